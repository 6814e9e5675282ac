/**
 * Owns: whether a node is one that a pod asks for: `nodeSelector` and the required node affinity. Pure.
 */
import type { Pod } from '../api/pod.ts';

export interface LabelledNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** As validation left it. */
interface Requirement {
  readonly key?: string;
  readonly operator?: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values?: readonly string[];
}

interface Term {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: {
    readonly nodeSelectorTerms?: readonly Term[];
  };
}

/** The labels that every node has, and those of `--node-labels` (spec node-api.md §2). */
export function nodeLabels(
  nodeName: string,
  given: Readonly<Record<string, string>>,
  arch: string = process.arch,
): Record<string, string> {
  const goArch = GO_ARCH[arch] ?? arch;
  return {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': goArch,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': goArch,
    ...given,
  };
}

const GO_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

export function matchesNode(pod: Pod, node: LabelledNode): boolean {
  const { nodeSelector = {}, affinity } = pod.spec;
  const selected = Object.entries(nodeSelector).every(([key, value]) => node.labels[key] === value);
  const wanted = affinity?.nodeAffinity as NodeAffinity | undefined;
  const required = wanted?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!selected || !required) return selected;
  return (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

/** A term that asks for nothing matches no node. */
function matchesTerm(
  { matchExpressions = [], matchFields = [] }: Term,
  node: LabelledNode,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields: Record<string, string> = { 'metadata.name': node.name };
  return (
    matchExpressions.every((one) => holds(one, node.labels)) &&
    matchFields.every((one) => holds(one, fields))
  );
}

function holds(
  { key = '', operator, values = [] }: Requirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compare(value, values[0]) > 0;
    case 'Lt':
      return compare(value, values[0]) < 0;
    case undefined:
      return false;
  }
}

/** NaN, with which nothing holds, unless both are whole numbers. */
function compare(value: string | undefined, bound: string | undefined): number {
  const whole = /^[+-]?\d+$/;
  if (!whole.test(value ?? '') || !whole.test(bound ?? '')) return NaN;
  return Number(value) - Number(bound);
}
