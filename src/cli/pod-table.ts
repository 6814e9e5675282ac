/**
 * Owns: the table of pods with kubectl's columns, for `get pods` and `up`.
 */
import type { Pod } from '../api/pod.ts';
import type { Colour, Paint } from './colour.ts';
import { ageOf, humanDuration } from './duration.ts';
import { harmless } from './io.ts';
import { podBirth, podSummary, type PodSummary } from './pod-summary.ts';
import { tableLines, type Cell } from './table.ts';

export interface PodTableOptions {
  readonly paint: Paint;
  readonly wallMs: number;
  readonly wide?: boolean;
  readonly namespaceColumn?: boolean;
  readonly columns?: number;
}

export function podTableLines(pods: readonly Pod[], options: PodTableOptions): string[] {
  const { wide, namespaceColumn, paint, columns } = options;
  const header = [
    ...(namespaceColumn ? ['NAMESPACE'] : []),
    ...['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'],
    ...(wide ? ['IP', 'NODE', 'NOMINATED NODE', 'READINESS GATES'] : []),
  ];
  const rows = pods.map((pod) => podRow(pod, options));
  return tableLines(header, rows, { paint, ...(columns !== undefined && { columns }) });
}

/** Whether the pods are of more than one namespace. */
export function severalNamespaces(pods: readonly Pod[]): boolean {
  return new Set(pods.map((pod) => pod.metadata.namespace)).size > 1;
}

export function byName(a: Pod, b: Pod): number {
  const compare = (x: string, y: string): number => (x < y ? -1 : x > y ? 1 : 0);
  return (
    compare(a.metadata.namespace, b.metadata.namespace) || compare(a.metadata.name, b.metadata.name)
  );
}

function podRow(pod: Pod, options: PodTableOptions): (Cell | string)[] {
  const { wallMs, wide, namespaceColumn } = options;
  const summary = podSummary(pod);
  return [
    ...(namespaceColumn ? [pod.metadata.namespace] : []),
    pod.metadata.name,
    `${summary.ready}/${summary.total}`,
    { text: harmless(summary.status), colour: statusColour(summary) },
    restartsText(summary, wallMs),
    ageOf(podBirth(pod), wallMs),
    ...(wide ? wideCells(pod) : []),
  ];
}

function wideCells(pod: Pod): string[] {
  const gates = pod.spec.readinessGates ?? [];
  const passed = gates.filter((gate) =>
    pod.status.conditions?.some((c) => c.type === gate.conditionType && c.status === 'True'),
  );
  return [
    pod.status.podIP || '<none>',
    pod.spec.nodeName || '<none>',
    '<none>',
    gates.length === 0 ? '<none>' : `${passed.length}/${gates.length}`,
  ];
}

function restartsText({ restarts, lastRestartMs }: PodSummary, wallMs: number): string {
  if (restarts === 0 || lastRestartMs === undefined) return String(restarts);
  return `${restarts} (${humanDuration(wallMs - lastRestartMs)} ago)`;
}

const CALM = /^(Pending|ContainerCreating|PodInitializing|Terminating|NotReady|Init:\d+\/\d+)$/;

function statusColour({ status, ready, total }: PodSummary): Colour {
  if (status === 'Running') return ready === total ? 'green' : 'yellow';
  if (status === 'Completed' || status === 'Succeeded') return 'dim';
  return CALM.test(status) ? 'yellow' : 'red';
}
