/**
 * Owns: `islet top pods` and `islet top node`: kubectl's columns and numbers, from the agent's summary.
 * Unlike kubectl: without `-n` the pods of all namespaces are shown (see get.ts).
 */
import { IsletError } from '../util/errors.ts';
import { AgentClient } from './client.ts';
import type { PodUsage, Usage, UsageSummary } from './client.ts';
import { painter } from './colour.ts';
import { objectText, oneOf } from './get.ts';
import { guarded, harmless, write, type CliIo } from './io.ts';
import { tableLines } from './table.ts';

export interface TopPodsArgs {
  /** With or without the node's suffix; all when empty. */
  readonly names: readonly string[];
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly containers?: boolean;
  /** `cpu` or `memory`. */
  readonly sortBy?: string;
  /** `json` or `yaml`. */
  readonly output?: string;
}

export interface TopNodeArgs {
  readonly output?: string;
}

interface Amounts {
  readonly nanoCores: number;
  readonly bytes: number;
}

const MIB = 2 ** 20;
const METRICS_API = 'metrics.k8s.io/v1beta1';

export function topPods(args: TopPodsArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    oneOf(args.output, ['json', 'yaml']);
    refuseSort(args.sortBy);
    const summary = await new AgentClient(io).usage();
    const pods = ordered(select(summary, args), args.sortBy);
    if (args.output === 'json' || args.output === 'yaml') {
      const items = pods.map(podMetrics);
      const list = { kind: 'PodMetricsList', apiVersion: METRICS_API, metadata: {}, items };
      await write(io.stdout, await objectText(list, args.output));
    } else if (pods.length === 0) {
      const where = args.namespace && !args.allNamespaces ? ` in ${args.namespace} namespace` : '';
      io.stderr.write(`No resources found${where}.\n`);
    } else await write(io.stdout, podTable(pods, args, io));
    return 0;
  });
}

export function topNode(args: TopNodeArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    oneOf(args.output, ['json', 'yaml']);
    const { node, allocatable } = await new AgentClient(io).usage();
    if (args.output === 'json' || args.output === 'yaml') {
      const items = [
        {
          metadata: { name: node.nodeName },
          timestamp: node.cpu?.time,
          window: '10s',
          usage: usageText(amountsOf(node)),
        },
      ];
      const list = { kind: 'NodeMetricsList', apiVersion: METRICS_API, metadata: {}, items };
      await write(io.stdout, await objectText(list, args.output));
      return 0;
    }
    const used = amountsOf(node);
    const header = ['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'];
    const [cpu, memory] = columns(used);
    const percents = [
      percent(milliCores(used), allocatable.cpuMilli),
      percent(used.bytes, allocatable.memory),
    ] as const;
    const row = [harmless(node.nodeName), cpu, percents[0], memory, percents[1]];
    await write(io.stdout, table(header, [row], io));
    return 0;
  });
}

function refuseSort(sortBy: string | undefined): void {
  if (sortBy === undefined || sortBy === 'cpu' || sortBy === 'memory') return;
  const text = `error: --sort-by ${JSON.stringify(sortBy)}: allowed are cpu, memory`;
  throw new IsletError('invalid', text);
}

function select({ node, pods }: UsageSummary, args: TopPodsArgs): PodUsage[] {
  const inNamespace = pods.filter(
    ({ podRef }) =>
      args.allNamespaces || args.namespace === undefined || podRef.namespace === args.namespace,
  );
  if (args.names.length === 0) return inNamespace;
  return args.names.flatMap((name) => {
    const wanted = [name, `${name}-${node.nodeName}`];
    const found = inNamespace.filter(({ podRef }) => wanted.includes(podRef.name));
    if (found.length > 0) return found;
    throw new IsletError('not-found', `error: nothing is known of the usage of pod "${name}"`);
  });
}

function ordered(pods: readonly PodUsage[], sortBy: string | undefined): PodUsage[] {
  const byName = (a: PodUsage, b: PodUsage): number =>
    compare(a.podRef.namespace, b.podRef.namespace) || compare(a.podRef.name, b.podRef.name);
  const most = (key: keyof Amounts) => (a: PodUsage, b: PodUsage) =>
    podAmounts(b)[key] - podAmounts(a)[key] || byName(a, b);
  if (sortBy === undefined) return [...pods].sort(byName);
  return [...pods].sort(most(sortBy === 'cpu' ? 'nanoCores' : 'bytes'));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function podTable(pods: readonly PodUsage[], args: TopPodsArgs, io: CliIo): string {
  const several = new Set(pods.map(({ podRef }) => podRef.namespace)).size > 1;
  const withNamespace = args.allNamespaces === true || several;
  const header = [
    ...(withNamespace ? ['NAMESPACE'] : []),
    ...(args.containers ? ['POD', 'NAME'] : ['NAME']),
    ...['CPU(cores)', 'MEMORY(bytes)'],
  ];
  const rows = pods.flatMap((pod) => {
    const names = [...(withNamespace ? [pod.podRef.namespace] : []), pod.podRef.name];
    if (!args.containers) return [[...names, ...columns(podAmounts(pod))]];
    return pod.containers.map((c) => [...names, c.name, ...columns(amountsOf(c))]);
  });
  return table(header, rows, io);
}

function table(header: readonly string[], rows: readonly string[][], io: CliIo): string {
  const lines = tableLines(header, rows, { paint: painter(io.stdout, io.env) });
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

/** As kubectl: the sum of the containers, without what the sandbox itself takes. */
function podAmounts({ containers }: PodUsage): Amounts {
  const all = containers.map(amountsOf);
  return {
    nanoCores: all.reduce((sum, { nanoCores }) => sum + nanoCores, 0),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function amountsOf({ cpu, memory }: Usage): Amounts {
  return { nanoCores: cpu?.usageNanoCores ?? 0, bytes: memory?.workingSetBytes ?? 0 };
}

/** A thousandth is the least that a quantity of CPU can say, so it is rounded up. */
function milliCores({ nanoCores }: Amounts): number {
  return Math.ceil(nanoCores / 1e6);
}

function columns(amounts: Amounts): [string, string] {
  return [`${milliCores(amounts)}m`, `${Math.floor(amounts.bytes / MIB)}Mi`];
}

function percent(used: number, of: number): string {
  return of > 0 ? `${Math.floor((used / of) * 100)}%` : '<unknown>';
}

function usageText({ nanoCores, bytes }: Amounts): object {
  return { cpu: `${nanoCores}n`, memory: `${Math.floor(bytes / 1024)}Ki` };
}

function podMetrics({ podRef, containers, cpu }: PodUsage): object {
  return {
    metadata: { name: podRef.name, namespace: podRef.namespace },
    timestamp: cpu?.time ?? containers[0]?.cpu?.time,
    window: '10s',
    containers: containers.map((container) => ({
      name: container.name,
      usage: usageText(amountsOf(container)),
    })),
  };
}
