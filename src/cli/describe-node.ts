/**
 * Owns: `islet get node` and `islet describe node`: how the node is, what it has, what its pods have asked
 * for, and what happened to it, in kubectl's form.
 */
import type { Node, NodeCondition } from '../api/node.ts';
import type { Pod } from '../api/pod.ts';
import { podLimits, podRequests, type Amounts } from '../api/qos.ts';
import {
  addQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  type ParsedQuantity,
} from '../api/quantity.ts';
import type { EventView } from '../server/view.ts';
import { AgentClient } from './client.ts';
import { painter, type Paint } from './colour.ts';
import { eventLines } from './describe.ts';
import { ageOf, humanDuration } from './duration.ts';
import { objectText, oneOf } from './get.ts';
import { guarded, harmless, write, type CliIo } from './io.ts';
import { fullTime, outline, pairs } from './outline.ts';
import { podBirth } from './pod-summary.ts';
import { byName } from './pod-table.ts';
import { tableLines, type Cell } from './table.ts';

export interface GetNodeArgs {
  /** `json`, `yaml` or `name`. */
  readonly output?: string;
}

export function getNode(args: GetNodeArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    oneOf(args.output, ['json', 'yaml', 'name']);
    const client = new AgentClient(io);
    const [node, version] = await Promise.all([client.node(), client.version()]);
    const { name } = node.metadata;
    if (args.output === 'json' || args.output === 'yaml') {
      await write(io.stdout, await objectText(node, args.output));
    } else if (args.output === 'name') {
      await write(io.stdout, `node/${name}\n`);
    } else {
      const age = humanDuration(version.uptimeSeconds * 1000);
      const row = [harmless(name), statusCell(node), age, version.islet];
      const header = ['NAME', 'STATUS', 'AGE', 'VERSION'];
      const lines = tableLines(header, [row], { paint: painter(io.stdout, io.env) });
      await write(io.stdout, `${lines.map((line) => line.trimEnd()).join('\n')}\n`);
    }
    return 0;
  });
}

export function describeNode(io: CliIo): Promise<number> {
  return guarded(io, async () => {
    const client = new AgentClient(io);
    const node = await client.node();
    const { name } = node.metadata;
    const [pods, events] = await Promise.all([client.pods(), client.events({ pod: name })]);
    const facts = { node, pods, events: events.filter(({ kind }) => kind === 'Node') };
    const lines = nodeLines(facts, painter(io.stdout, io.env), io.clock.wall());
    await write(io.stdout, `${lines.join('\n')}\n`);
    return 0;
  });
}

export interface NodeFactsShown {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly events: readonly EventView[];
}

export function nodeLines({ node, pods, events }: NodeFactsShown, paint: Paint, wallMs: number) {
  const { metadata, status } = node;
  const section = (name: string, values: Readonly<Record<string, string>>) => ({
    name,
    parts: Object.entries(values).map(([key, value]) => ({ name: key, value })),
  });
  const active = pods.filter((pod) => !['Succeeded', 'Failed'].includes(pod.status.phase ?? ''));
  const { allocatable } = status;
  return [
    ...outline([
      { name: 'Name', value: metadata.name },
      { name: 'Labels', value: pairs(metadata.labels, '=').map(harmless) },
    ]),
    ...conditionLines(status.conditions, paint),
    ...outline([
      {
        name: 'Addresses',
        parts: status.addresses.map(({ type, address }) => ({ name: type, value: address })),
      },
      section('Capacity', status.capacity),
      section('Allocatable', allocatable),
    ]),
    ...podLines([...active].sort(byName), allocatable, paint, wallMs),
    ...allocatedLines(active, allocatable, paint),
    ...eventLines(events, paint, wallMs),
  ];
}

/** Pressure on a node that is ready is what one looks for. */
function statusCell({ status }: Node): Cell {
  const isTrue = (type: string): boolean =>
    status.conditions.some((c) => c.type === type && c.status === 'True');
  const pressure = status.conditions.filter((c) => c.type !== 'Ready' && c.status === 'True');
  const ready = isTrue('Ready');
  const text = [ready ? 'Ready' : 'NotReady', ...pressure.map(({ type }) => type)].join(',');
  return { text, colour: !ready ? 'red' : pressure.length > 0 ? 'yellow' : 'green' };
}

function conditionLines(conditions: readonly NodeCondition[], paint: Paint): string[] {
  const rows = conditions.map(({ type, status, lastTransitionTime, reason, message }) => {
    const isBad = (type === 'Ready') !== (status === 'True');
    const cell: Cell = { text: status, ...(isBad && { colour: 'red' }) };
    return [type, cell, fullTime(lastTransitionTime), reason, harmless(message)];
  });
  const header = ['Type', 'Status', 'LastTransitionTime', 'Reason', 'Message'];
  return ['Conditions:', ...tableLines(header, rows, { paint, indent: '  ' })];
}

type Resources = Readonly<Record<string, string>>;

function podLines(
  pods: readonly Pod[],
  allocatable: Resources,
  paint: Paint,
  wallMs: number,
): string[] {
  const rows = pods.map((pod) => {
    const [requests, limits] = [podRequests(pod), podLimits(pod)];
    const amounts = ['cpu', 'memory'].flatMap((resource) =>
      [requests, limits].map((all) => share(all.get(resource), allocatable[resource])),
    );
    return [
      ...[pod.metadata.namespace, pod.metadata.name, ...amounts],
      ageOf(podBirth(pod), wallMs),
    ];
  });
  const columns = ['CPU Requests', 'CPU Limits', 'Memory Requests', 'Memory Limits'];
  const header = ['Namespace', 'Name', ...columns, 'Age'];
  const title = `Non-terminated Pods: (${pods.length} in total)`;
  return [title, ...tableLines(header, rows, { paint, indent: '  ' })];
}

function allocatedLines(pods: readonly Pod[], allocatable: Resources, paint: Paint): string[] {
  const requests = sum(pods.map((pod) => podRequests(pod)));
  const limits = sum(pods.map((pod) => podLimits(pod)));
  const names = Object.keys(allocatable).filter((name) => name !== 'pods');
  const rows = names.map((name) => [
    name,
    share(requests.get(name), allocatable[name]),
    share(limits.get(name), allocatable[name]),
  ]);
  const header = ['Resource', 'Requests', 'Limits'];
  return ['Allocated resources:', ...tableLines(header, rows, { paint, indent: '  ' })];
}

function sum(all: readonly Amounts[]): Amounts {
  const total = new Map<string, ParsedQuantity>();
  for (const amounts of all) {
    for (const [name, amount] of amounts) {
      const before = total.get(name);
      total.set(name, before ? addQuantities(before, amount) : amount);
    }
  }
  return total;
}

/** As `100m (5%)` of what there is for pods. */
function share(amount: ParsedQuantity | undefined, of: string | undefined): string {
  const whole = of === undefined ? undefined : parseQuantity(of);
  const text = amount ? formatQuantity(amount) : '0';
  if (!amount || !whole || whole.nano === 0n) return `${text} (0%)`;
  return `${text} (${Math.floor((milliValue(amount) * 100) / milliValue(whole))}%)`;
}
