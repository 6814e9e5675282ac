/**
 * Owns: what CreateContainer is asked for (spec cri-mapping.md §3). Pure, but for reading env files out of
 * volumes, which is handed in as a function.
 */
import type { Container, LifecycleHandler, Pod } from '../api/pod.ts';
import { Annotation, Label } from '../api/reasons.ts';
import type { ContainerConfig, IdMapping } from '../cri/model.ts';
import { containerDevices } from './devices.ts';
import type { EnvInput } from './env.ts';
import { containerEnv } from './env.ts';
import { expand } from './expand.ts';
import { containerHash, goJsonOf } from './hash.ts';
import type { SubPathRequest } from './mounts.ts';
import { containerMounts, subPathRequests } from './mounts.ts';
import { namespaceOptions } from './namespaces.ts';
import type { ObjectHashes } from './object-hash.ts';
import { objectsAnnotation } from './object-hash.ts';
import type { NodeFacts } from './node-facts.ts';
import { containerResources } from './resources.ts';
import { containerSecurity, verifyRunAsNonRoot } from './security.ts';

/** What the image says about itself, as far as a container's config depends on it. */
export interface ContainerImage {
  /** What the runtime calls the image: its id, or the reference the pull returned. */
  readonly ref: string;
  readonly uid?: number;
  /** '' when the image names no user. */
  readonly username: string;
}

export interface ContainerInput extends EnvInput {
  /** Also the attempt and the number of the log file. */
  readonly restartCount: number;
  readonly image: ContainerImage;
  /** Prepared host paths of the mounts that `containerSubPaths` lists, by their index. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** What the runtime calls the images of image volumes, by volume name. */
  readonly imageRefs?: ReadonlyMap<string, string>;
  /** Host file; '' when there is none. */
  readonly terminationLogPath: string;
  /** Host file for /etc/hosts; undefined: nothing is mounted there. */
  readonly hostsPath: string | undefined;
  readonly userns?: readonly IdMapping[] | undefined;
  /** Of the pod's runtime handler. */
  readonly recursiveReadOnlyMounts?: boolean;
  /** Of a pod that asks for restarts on change. */
  readonly objectHashes?: ObjectHashes | undefined;
  /** Id of the container whose pid namespace an ephemeral container joins. */
  readonly targetContainerId?: string;
}

/** @throws ConfigError with the waiting reason and message when the manifest cannot be honoured. */
export function containerConfig(input: ContainerInput): ContainerConfig {
  const { pod, container, restartCount, image, facts } = input;
  verifyRunAsNonRoot(pod, container, image);
  const env = containerEnv(input);
  const namespaces = namespaceOptions(pod, input.userns, input.targetContainerId);
  return {
    name: container.name,
    attempt: restartCount,
    image: image.ref,
    userSpecifiedImage: container.image ?? '',
    command: (container.command ?? []).map((word) => expand(word, env)),
    args: (container.args ?? []).map((word) => expand(word, env)),
    workingDir: container.workingDir ?? '',
    envs: [...env].map(([key, value]) => ({ key, value })),
    mounts: containerMounts({
      ...input,
      env,
      podAnnotations: pod.metadata.annotations,
      selinuxEnabled: facts.selinuxEnabled,
      userns: input.userns,
    }),
    devices: containerDevices(container, input.volumes),
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(input),
    logPath: containerLogPath(container, restartCount),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    ...stopSignal(container, facts),
    resources: containerResources(pod, container, facts),
    security: containerSecurity(pod, container, image, namespaces, facts),
  };
}

/**
 * The sub paths to prepare before `containerConfig` is asked.
 * @throws ConfigError as `containerConfig` would.
 */
export function containerSubPaths(input: EnvInput): SubPathRequest[] {
  const { container, volumes } = input;
  const any = container.volumeMounts?.some((mount) => mount.subPath || mount.subPathExpr);
  return any ? subPathRequests(container, containerEnv(input), volumes) : [];
}

/** Relative to the sandbox's log directory. */
export function containerLogPath(container: Container, restartCount: number): string {
  return `${container.name}/${restartCount}.log`;
}

function stopSignal(container: Container, facts: NodeFacts): Pick<ContainerConfig, 'stopSignal'> {
  const wanted = container.lifecycle?.stopSignal;
  return wanted !== undefined && facts.stopSignals ? { stopSignal: wanted } : {};
}

function containerLabels(pod: Pod, container: Container): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return {
    [Label.podName]: name,
    [Label.podNamespace]: namespace,
    [Label.podUid]: uid,
    [Label.containerName]: container.name,
  };
}

/** What a later agent needs to know of a container whose manifest is gone. */
function containerAnnotations({
  pod,
  container,
  restartCount,
  objectHashes,
}: ContainerInput): Record<string, string> {
  const uses = objectHashes && objectsAnnotation(objectHashes, container.name);
  const { deletionGracePeriodSeconds } = pod.metadata;
  const preStop = container.lifecycle?.preStop;
  return {
    [Annotation.containerHash]: containerHash(container),
    [Annotation.restartCount]: String(restartCount),
    [Annotation.terminationMessagePath]: container.terminationMessagePath,
    [Annotation.terminationMessagePolicy]: container.terminationMessagePolicy,
    [Annotation.podTerminationGracePeriod]: String(pod.spec.terminationGracePeriodSeconds),
    ...(deletionGracePeriodSeconds !== undefined && {
      [Annotation.podDeletionGracePeriod]: String(deletionGracePeriodSeconds),
    }),
    ...(preStop && { [Annotation.preStopHandler]: handlerJson(preStop) }),
    ...(container.ports?.length && { [Annotation.containerPorts]: portsJson(container) }),
    ...(uses !== undefined && { [Annotation.configObjects]: uses }),
  };
}

/** Fields in the API's order, empty ones left out: as the kubelet writes them. */
function portsJson(container: Container): string {
  const ports = (container.ports ?? []).map((port) => ({
    name: port.name || undefined,
    hostPort: port.hostPort || undefined,
    containerPort: port.containerPort,
    protocol: port.protocol,
    hostIP: port.hostIP || undefined,
  }));
  return goJsonOf(ports);
}

function handlerJson(handler: LifecycleHandler): string {
  const { exec, httpGet, tcpSocket, sleep } = handler;
  return goJsonOf({
    exec: exec && { command: exec.command?.length ? exec.command : undefined },
    httpGet: httpGet && {
      path: httpGet.path || undefined,
      port: httpGet.port,
      host: httpGet.host || undefined,
      scheme: httpGet.scheme || undefined,
      httpHeaders: httpGet.httpHeaders?.map(({ name, value }) => ({ name, value })),
    },
    tcpSocket: tcpSocket && { port: tcpSocket.port, host: tcpSocket.host || undefined },
    sleep: sleep && { seconds: sleep.seconds },
  });
}
