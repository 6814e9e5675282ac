/**
 * Owns: the node as a v1 object (spec node-api.md §3), from what is known of it. Pure.
 * Leaves to others: the conditions of pressure (src/eviction), labels (pod/node-affinity.ts).
 */
import type { Node, NodeCondition, NodeResources } from '../api/node.ts';
import { amountText, formatQuantity } from '../api/quantity.ts';
import type { NodeAmounts } from './node-amounts.ts';
import type { NodeFacts } from './node-facts.ts';

export interface NodeObjectInput {
  readonly facts: Pick<NodeFacts, 'nodeName' | 'nodeIps' | 'capacity' | 'allocatable'>;
  readonly labels: Readonly<Record<string, string>>;
  readonly conditions: readonly NodeCondition[];
}

export function nodeObject({ facts, labels, conditions }: NodeObjectInput): Node {
  const { nodeName, nodeIps, capacity, allocatable } = facts;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName, labels },
    status: {
      addresses: [
        ...nodeIps.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: nodeName },
      ],
      capacity: resourcesOf(capacity),
      allocatable: resourcesOf(allocatable),
      conditions,
    },
  };
}

/** What keeps the node from being ready, in order; nothing: it is. */
export function readyCondition(troubles: readonly string[]): NodeCondition {
  const [first, ...more] = troubles;
  if (first === undefined) {
    const message = 'kubelet is posting ready status';
    return { type: 'Ready', status: 'True', reason: 'KubeletReady', message };
  }
  const message = more.length === 0 ? first : `[${troubles.join(', ')}]`;
  return { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message };
}

/** Process ids are no resource of the API. */
function resourcesOf(amounts: NodeAmounts): NodeResources {
  const { cpuMilli, memory, ephemeralStorage, pods, hugepages } = amounts;
  const sizes = [...hugepages].map(([size, bytes]) => [
    `hugepages-${amountText(size)}`,
    amountText(bytes),
  ]);
  return {
    cpu: formatQuantity({ nano: BigInt(cpuMilli) * 1_000_000n, format: 'DecimalSI' }),
    memory: amountText(memory),
    ...(ephemeralStorage > 0 && { 'ephemeral-storage': amountText(ephemeralStorage) }),
    pods: String(pods),
    ...(Object.fromEntries(sizes) as NodeResources),
  };
}
