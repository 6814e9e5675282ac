/**
 * Owns: the words of probing that the files of probe/ share.
 */
import type { Container, Pod, Probe } from '../api/pod.ts';
import { isSidecar } from '../api/pod.ts';

export type ProbeKind = 'startup' | 'readiness' | 'liveness';

export const PROBE_KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

const FIELDS = {
  startup: 'startupProbe',
  readiness: 'readinessProbe',
  liveness: 'livenessProbe',
} as const satisfies Record<ProbeKind, keyof Container>;

/** As events and metrics name the kind. */
export const PROBE_TITLES = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
} as const satisfies Record<ProbeKind, string>;

export function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  return container[FIELDS[kind]];
}

/** One attempt's target: what is probed, and where it is now. */
export interface ProbeSubject {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  readonly container: Container;
  readonly probe: Probe;
  /** Without the runtime's prefix. */
  readonly containerId: string;
  /** Where the network probes go without a host of their own; undefined: the pod has no address. */
  readonly podIp: string | undefined;
}

/**
 * What a handler found out. An `error` says nothing about the container: the handler itself could not
 * run. Its `state` is what the kubelet's event names.
 */
export type Outcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'failure'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string; readonly state: 'unknown' | 'failure' };

export const SUCCESS: Outcome = { kind: 'success' };

export function failure(text: string): Outcome {
  return { kind: 'failure', text };
}

export function errored(text: string, state: 'unknown' | 'failure' = 'unknown'): Outcome {
  return { kind: 'error', text, state };
}

/** What of a body or an output is read, in bytes (spec: probes.md §3.1, §3.3). */
export const MAX_OUTPUT_BYTES = 10 * 1024;

/** Whether anything in the pod is probed: regular containers and sidecars only (spec: probes.md). */
export function hasProbes(pod: Pod): boolean {
  return (
    pod.spec.containers.some(isProbed) || (pod.spec.initContainers?.some(isProbedInit) ?? false)
  );
}

function isProbed(container: Container): boolean {
  return (
    container.readinessProbe !== undefined ||
    container.livenessProbe !== undefined ||
    container.startupProbe !== undefined
  );
}

function isProbedInit(container: Container): boolean {
  return isSidecar(container) && isProbed(container);
}
