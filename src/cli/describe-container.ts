/**
 * Owns: one container in `describe pod`. Pure.
 * Invariant: what comes from a secret is named, never shown.
 */
import type { Container, EnvFromSource, EnvVar, Probe, ProbeHandler } from '../api/pod.ts';
import type { ContainerState, ContainerStatus } from '../api/status.ts';
import { harmless } from './io.ts';
import { fullTime, pairs, type Entry } from './outline.ts';

export function containerEntry(container: Container, status: ContainerStatus | undefined): Entry {
  const ports = container.ports ?? [];
  const list = (values: string[]): string => values.join(', ') || '<none>';
  return {
    name: container.name,
    parts: [
      { name: 'Container ID', value: status?.containerID ?? '' },
      { name: 'Image', value: container.image ?? '' },
      { name: 'Image ID', value: status?.imageID ?? '' },
      { name: 'Ports', value: list(ports.map((p) => `${p.containerPort}/${p.protocol}`)) },
      { name: 'Host Ports', value: list(ports.map((p) => `${p.hostPort ?? 0}/${p.protocol}`)) },
      ...words('Command', container.command),
      ...words('Args', container.args),
      ...(status ? statusEntries(status) : []),
      ...amounts('Limits', container.resources.limits),
      ...amounts('Requests', container.resources.requests),
      ...probe('Liveness', container.livenessProbe),
      ...probe('Readiness', container.readinessProbe),
      ...probe('Startup', container.startupProbe),
      ...environmentFrom(container.envFrom),
      ...environment(container.env),
      ...mounts(container),
    ],
  };
}

function statusEntries(status: ContainerStatus): Entry[] {
  const last = stateEntries('Last State', status.lastState);
  return [
    ...stateEntries('State', status.state),
    ...(Object.keys(status.lastState).length > 0 ? last : []),
    { name: 'Ready', value: status.ready ? 'True' : 'False' },
    { name: 'Restart Count', value: String(status.restartCount) },
  ];
}

function stateEntries(name: string, { running, terminated, waiting }: ContainerState): Entry[] {
  const maybe = (part: string, text: string | number | undefined): Entry[] =>
    text === undefined || text === '' ? [] : [{ name: part, value: harmless(String(text)) }];
  if (running) {
    return [
      { name, value: 'Running', parts: [{ name: 'Started', value: fullTime(running.startedAt) }] },
    ];
  }
  if (terminated) {
    const parts = [
      ...maybe('Reason', terminated.reason),
      ...maybe('Message', terminated.message),
      ...maybe('Exit Code', terminated.exitCode),
      ...maybe('Signal', terminated.signal || undefined),
      { name: 'Started', value: fullTime(terminated.startedAt) },
      { name: 'Finished', value: fullTime(terminated.finishedAt) },
    ];
    return [{ name, value: 'Terminated', parts }];
  }
  const parts = [...maybe('Reason', waiting?.reason), ...maybe('Message', waiting?.message)];
  return [{ name, value: 'Waiting', parts }];
}

function words(name: string, list: readonly string[] | undefined): Entry[] {
  return list && list.length > 0
    ? [{ name, lines: list.flatMap((word) => word.split('\n')).map(harmless) }]
    : [];
}

function amounts(name: string, record: Record<string, string> | undefined): Entry[] {
  const keys = Object.keys(record ?? {}).sort();
  if (keys.length === 0) return [];
  return [{ name, parts: keys.map((key) => ({ name: key, value: record?.[key] ?? '' })) }];
}

function probe(name: string, given: Probe | undefined): Entry[] {
  if (!given) return [];
  const { initialDelaySeconds = 0, timeoutSeconds, periodSeconds } = given;
  const value =
    `${handler(given)} delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s ` +
    `period=${periodSeconds}s #success=${given.successThreshold} #failure=${given.failureThreshold}`;
  return [{ name, value: harmless(value) }];
}

function handler({ exec, httpGet, tcpSocket, grpc }: ProbeHandler): string {
  if (exec) return `exec [${(exec.command ?? []).join(' ')}]`;
  if (httpGet) {
    const { scheme = 'HTTP', host = '', port, path = '/' } = httpGet;
    return `http-get ${scheme.toLowerCase()}://${host}:${port}${path}`;
  }
  if (tcpSocket) return `tcp-socket ${tcpSocket.host ?? ''}:${tcpSocket.port}`;
  return `grpc <pod>:${grpc?.port} ${grpc?.service ?? ''}`.trimEnd();
}

function environmentFrom(sources: readonly EnvFromSource[] | undefined): Entry[] {
  if (!sources || sources.length === 0) return [];
  const lines = sources.map(({ prefix, configMapRef, secretRef }) => {
    const [kind, ref] = secretRef ? ['Secret', secretRef] : ['ConfigMap', configMapRef];
    const before = prefix ? ` with prefix '${prefix}'` : '';
    return `${ref?.name ?? ''}  ${kind}${before}  Optional: ${ref?.optional ?? false}`;
  });
  return [{ name: 'Environment Variables from', lines }];
}

function environment(variables: readonly EnvVar[] | undefined): Entry[] {
  if (!variables || variables.length === 0) return [{ name: 'Environment', value: '<none>' }];
  const parts = variables.map((variable) => ({ name: variable.name, value: envValue(variable) }));
  return [{ name: 'Environment', parts }];
}

function envValue({ value = '', valueFrom }: EnvVar): string {
  if (!valueFrom) return harmless(value);
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom;
  if (fieldRef) return `(${fieldRef.apiVersion ?? 'v1'}:${fieldRef.fieldPath})`;
  if (resourceFieldRef) {
    const { containerName, resource } = resourceFieldRef;
    return containerName ? `(${containerName}:${resource})` : `(${resource})`;
  }
  if (fileKeyRef) {
    return `<set to the key '${fileKeyRef.key}' of ${fileKeyRef.path} in volume '${fileKeyRef.volumeName}'>`;
  }
  const [kind, ref] = secretKeyRef ? ['secret', secretKeyRef] : ['config map', configMapKeyRef];
  return `<set to the key '${ref?.key}' in ${kind} '${ref?.name}'>  Optional: ${ref?.optional ?? false}`;
}

function mounts(container: Container): Entry[] {
  const given = container.volumeMounts ?? [];
  if (given.length === 0) return [{ name: 'Mounts', value: '<none>' }];
  const lines = given.map((mount) => {
    const path = mount.subPath ?? mount.subPathExpr;
    const flags = [mount.readOnly ? 'ro' : 'rw', ...(path ? [`path="${path}"`] : [])];
    return `${mount.mountPath} from ${mount.name} (${flags.join(',')})`;
  });
  return [{ name: 'Mounts', lines: lines.sort() }];
}

/** `key=value` lines for labels and annotations. */
export const keyValues = (record: Record<string, string> | undefined): string[] =>
  pairs(record, '=').map(harmless);
