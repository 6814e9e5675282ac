/**
 * Owns: the values that a pod can be told about itself, for environment variables and for downward API
 * files: `fieldRef` and `resourceFieldRef` (spec cri-mapping.md §3.2).
 */
import { IsletError } from '../util/errors.ts';
import type {
  Container,
  ObjectFieldSelector,
  Pod,
  Quantity,
  ResourceFieldSelector,
} from './pod.ts';
import { parseQuantity, quantityMilli, quantityValue, value } from './quantity.ts';

export interface DownwardFacts {
  readonly nodeName: string;
  /** Primary first. */
  readonly nodeIps: readonly string[];
  /** Addresses of the pod, primary first. */
  readonly podIps: readonly string[];
}

/** What the node can give to pods: stands in for a limit that the manifest does not set. */
export interface AllocatableFacts {
  readonly cpuMilli: number;
  /** Bytes. */
  readonly memory: number;
  /** Bytes. */
  readonly ephemeralStorage: number;
}

const SUBSCRIPT = /^metadata\.(labels|annotations)\['(.*)'\]$/s;

/** @throws IsletError `invalid` for a path that no field has. */
export function fieldValue(pod: Pod, selector: ObjectFieldSelector, facts: DownwardFacts): string {
  const { metadata, spec } = pod;
  const subscript = SUBSCRIPT.exec(selector.fieldPath);
  if (subscript) {
    const map = subscript[1] === 'labels' ? metadata.labels : metadata.annotations;
    return map?.[subscript[2] ?? ''] ?? '';
  }
  switch (selector.fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return mapLines(metadata.labels);
    case 'metadata.annotations':
      return mapLines(metadata.annotations);
    case 'spec.nodeName':
      return spec.nodeName ?? facts.nodeName;
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return facts.nodeIps[0] ?? '';
    case 'status.hostIPs':
      return facts.nodeIps.join(',');
    case 'status.podIP':
      return podIps(pod, facts)[0] ?? '';
    case 'status.podIPs':
      return podIps(pod, facts).join(',');
    default:
      throw new IsletError('invalid', `unsupported fieldPath: ${selector.fieldPath}`);
  }
}

/** Unlike the kubelet: a hostNetwork pod has the node's addresses without an API server too. */
function podIps(pod: Pod, facts: DownwardFacts): readonly string[] {
  return pod.spec.hostNetwork ? facts.nodeIps : facts.podIps;
}

/** Lines `key="escaped value"`, sorted by key, without a newline at the end. */
export function mapLines(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, text]) => `${key}=${quoted(text)}`)
    .join('\n');
}

const ESCAPES = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);

/** As Go's `%q` writes a string: what the readers of these files expect. */
function quoted(text: string): string {
  const body = text.replace(/[\p{C}\p{Zl}\p{Zp}\\"]|(?! )\p{Zs}/gu, (c) => {
    const known = ESCAPES.get(c);
    if (known !== undefined) return known;
    const code = c.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    if (code < 0x1_0000) return `\\u${code.toString(16).padStart(4, '0')}`;
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `"${body}"`;
}

/**
 * `ceil(value / divisor)` of a container's own request or limit: cpu counted in cores, the rest in units,
 * unless the divisor says otherwise. A limit that is not set is the pod's, else what the node has.
 * @throws IsletError `invalid` for an unknown container or resource.
 */
export function resourceFieldValue(
  pod: Pod,
  selector: ResourceFieldSelector,
  own: Container | undefined,
  allocatable: AllocatableFacts,
): string {
  const container = containerOf(pod, selector.containerName, own);
  const [kind, ...rest] = selector.resource.split('.');
  const name = rest.join('.');
  const known =
    ['cpu', 'memory', 'ephemeral-storage'].includes(name) || name.startsWith('hugepages-');
  if ((kind !== 'limits' && kind !== 'requests') || !known) {
    throw new IsletError('invalid', `Unsupported container resource : ${selector.resource}`);
  }
  const text = container.resources[kind]?.[name];
  const isCpu = name === 'cpu';
  const amount = isCpu ? quantityMilli(text) : quantityValue(text);
  const full = kind === 'limits' && amount === 0 ? defaultLimit(pod, name, allocatable) : amount;
  return String(Math.ceil(full / divisorOf(selector.divisor, isCpu)));
}

function containerOf(pod: Pod, name: string | undefined, own: Container | undefined): Container {
  if (!name && own) return own;
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const found = all.find((c) => c.name === name);
  if (!found) throw new IsletError('invalid', `container ${name ?? ''} not found`);
  return found;
}

function defaultLimit(pod: Pod, name: string, allocatable: AllocatableFacts): number {
  const podLevel = pod.spec.resources?.limits?.[name];
  switch (name) {
    case 'cpu':
      return quantityMilli(podLevel) || allocatable.cpuMilli;
    case 'memory':
      return quantityValue(podLevel) || allocatable.memory;
    case 'ephemeral-storage':
      return allocatable.ephemeralStorage;
    default:
      return 0;
  }
}

/** In millicores for cpu, else in whole units; never 0. */
function divisorOf(divisor: Quantity | undefined, isCpu: boolean): number {
  const quantity = divisor === undefined ? undefined : parseQuantity(divisor);
  const zero = quantity === undefined || quantity.nano === 0n;
  if (isCpu) return zero ? 1000 : quantityMilli(divisor);
  return zero ? 1 : value(quantity);
}
