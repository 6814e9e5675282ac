/**
 * Owns: `islet describe pod`: everything about one pod on one page, in kubectl's form, and what only
 * islet knows: the manifest file, its state, and what of it cannot be honoured.
 */
import type { Pod, Toleration } from '../api/pod.ts';
import { qosClass } from '../api/qos.ts';
import type { EventView, FileView } from '../server/view.ts';
import { AgentClient } from './client.ts';
import { painter, type Paint } from './colour.ts';
import { containerEntry, keyValues } from './describe-container.ts';
import { volumeEntry } from './describe-volume.ts';
import { bySeen, eventAge, typeCell } from './event-table.ts';
import { guarded, harmless, write, type CliIo } from './io.ts';
import { fullTime, outline, pairs, type Entry } from './outline.ts';
import { findPod } from './pod-lookup.ts';
import { tableLines } from './table.ts';

export interface DescribePodArgs {
  /** `NAME` or `pod/NAME`, with or without the node's suffix. */
  readonly pod: string;
  readonly namespace?: string;
}

export interface PodFacts {
  readonly pod: Pod;
  readonly events: readonly EventView[];
  readonly warnings: readonly string[];
  /** The manifest file that the pod is from, when it is known. */
  readonly file: FileView | undefined;
}

export function describePod(args: DescribePodArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    const client = new AgentClient(io);
    const pod = findPod(await client.pods(), args.pod, args.namespace);
    const { uid, namespace, name } = pod.metadata;
    const [events, warnings, files] = await Promise.all([
      client.events({ uid }),
      client.warnings(uid),
      client.files(),
    ]);
    const file = files.find((one) => one.pods.includes(`${namespace}/${name}`));
    const paint = painter(io.stdout, io.env);
    const lines = describeLines({ pod, events, warnings, file }, paint, io.clock.wall());
    await write(io.stdout, `${lines.join('\n')}\n`);
    return 0;
  });
}

export function describeLines(facts: PodFacts, paint: Paint, wallMs: number): string[] {
  const { pod } = facts;
  return [
    ...outline([...head(pod), ...manifest(facts)]),
    ...containers('Init Containers', pod.spec.initContainers, pod.status.initContainerStatuses),
    ...containers('Containers', pod.spec.containers, pod.status.containerStatuses),
    ...conditions(pod, paint),
    ...outline(volumes(pod)),
    ...outline(tail(pod)),
    ...list('Warnings', facts.warnings),
    ...eventLines(facts.events, paint, wallMs),
  ];
}

function head({ metadata, spec, status }: Pod): Entry[] {
  const node = [spec.nodeName ?? '<none>', ...(status.hostIP ? [status.hostIP] : [])].join('/');
  const maybe = (name: string, value: string | undefined): Entry[] =>
    value ? [{ name, value: harmless(value) }] : [];
  const ips = status.podIPs ?? [];
  return [
    { name: 'Name', value: metadata.name },
    { name: 'Namespace', value: metadata.namespace },
    { name: 'UID', value: metadata.uid },
    { name: 'Priority', value: String(spec.priority ?? 0) },
    ...maybe('Priority Class Name', spec.priorityClassName),
    ...maybe('Runtime Class Name', spec.runtimeClassName),
    { name: 'Node', value: node },
    { name: 'Start Time', value: status.startTime ? fullTime(status.startTime) : '<none>' },
    { name: 'Labels', value: keyValues(metadata.labels) },
    { name: 'Annotations', value: pairs(metadata.annotations, ': ').map(harmless) },
    {
      name: 'Status',
      value: metadata.deletionTimestamp ? 'Terminating' : (status.phase ?? 'Unknown'),
    },
    ...maybe('Reason', status.reason),
    ...maybe('Message', status.message),
    { name: 'IP', value: status.podIP ?? '' },
    ips.length > 0
      ? { name: 'IPs', parts: ips.map(({ ip }) => ({ name: 'IP', value: ip })) }
      : { name: 'IPs', value: '<none>' },
  ];
}

function manifest({ file }: PodFacts): Entry[] {
  if (!file) return [{ name: 'Manifest', value: '<none>' }];
  const state = file.usingLastGood
    ? `${file.state}, the pod runs from what was good last`
    : file.state;
  const value = [`${harmless(file.file)} (${state})`, ...file.messages.map(harmless)];
  return [{ name: 'Manifest', value }];
}

function containers(
  title: string,
  specs: Pod['spec']['containers'] | undefined,
  statuses: Pod['status']['containerStatuses'],
): string[] {
  if (!specs || specs.length === 0) return [];
  const parts = specs.map((spec) =>
    containerEntry(
      spec,
      statuses?.find((status) => status.name === spec.name),
    ),
  );
  return outline([{ name: title, parts }]);
}

function conditions({ status }: Pod, paint: Paint): string[] {
  const given = status.conditions ?? [];
  if (given.length === 0) return [];
  const rows = given.map((c) => [c.type, c.status, c.reason ?? '', harmless(c.message ?? '')]);
  const header = ['Type', 'Status', 'Reason', 'Message'];
  return ['Conditions:', ...trimmed(tableLines(header, rows, { paint, indent: '  ' }))];
}

function volumes({ spec }: Pod): Entry[] {
  const given = spec.volumes ?? [];
  if (given.length === 0) return [{ name: 'Volumes', value: '<none>' }];
  return [{ name: 'Volumes', parts: given.map(volumeEntry) }];
}

function tail(pod: Pod): Entry[] {
  const tolerations = (pod.spec.tolerations ?? []).map(tolerationText);
  return [
    { name: 'QoS Class', value: pod.status.qosClass ?? qosClass(pod) },
    { name: 'Node-Selectors', value: keyValues(pod.spec.nodeSelector) },
    { name: 'Tolerations', value: tolerations.length > 0 ? tolerations : ['<none>'] },
  ];
}

function tolerationText(toleration: Toleration): string {
  const { key = '', operator, value, effect, tolerationSeconds } = toleration;
  let text = key;
  if (value) text += `=${value}`;
  if (effect) text += `:${effect}`;
  if (operator === 'Exists' && !value) text += key || effect ? ' op=Exists' : 'op=Exists';
  if (tolerationSeconds !== undefined) text += ` for ${tolerationSeconds}s`;
  return text;
}

function list(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : outline([{ name: title, lines: lines.map(harmless) }]);
}

export function eventLines(given: readonly EventView[], paint: Paint, wallMs: number): string[] {
  if (given.length === 0) return outline([{ name: 'Events', value: '<none>' }]);
  const rows = [...given]
    .sort(bySeen)
    .map((e) => [typeCell(e), e.reason, eventAge(e, wallMs), 'islet', harmless(e.message)]);
  const header = ['Type', 'Reason', 'Age', 'From', 'Message'];
  return ['Events:', ...tableLines(header, rows, { paint, indent: '  ' })];
}

function trimmed(lines: readonly string[]): string[] {
  return lines.map((line) => line.trimEnd());
}
