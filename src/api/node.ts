/**
 * Owns: the v1 Node, as far as islet tells about its own.
 */
import type { Quantity } from './pod.ts';

export type NodeConditionType = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure' | 'Ready';

export interface NodeCondition {
  readonly type: NodeConditionType;
  readonly status: 'True' | 'False';
  /** RFC 3339; absent where it is not known. */
  readonly lastTransitionTime?: string;
  readonly reason: string;
  readonly message: string;
}

export type NodeResources = Readonly<Record<string, Quantity>>;

export interface Node {
  readonly apiVersion: 'v1';
  readonly kind: 'Node';
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly status: {
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
    readonly capacity: NodeResources;
    /** Capacity less reservations and hard eviction thresholds. */
    readonly allocatable: NodeResources;
    readonly conditions: readonly NodeCondition[];
  };
}
