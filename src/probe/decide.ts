/**
 * Owns: what one iteration of a probe worker does before it probes (spec: probes.md §2.1) and what a
 * result leads to (§2.2). Pure.
 * Invariant: a result belongs to one container id; nothing of an earlier container decides over a
 * later one, but the length of the run of equal results (§2.2).
 * Leaves to others: when an iteration runs (worker.ts), how a probe is done (prober.ts).
 *
 *   new id ──▶ probing ──liveness failed, or any startup result──▶ on hold ──▶ new id
 */
import type { Container, Pod, Probe } from '../api/pod.ts';
import type { ContainerStatus, PodStatus } from '../api/status.ts';
import { shouldRestart } from '../runtime/restart-policy.ts';
import type { ProbeKind } from './model.ts';

/** What a worker remembers from iteration to iteration. Times are monotonic milliseconds. */
export interface WorkerMemory {
  /** The container that results belong to, without the runtime's prefix. */
  readonly containerId: string | undefined;
  readonly onHold: boolean;
  /** The result counted last, and how many times it came in a row. */
  readonly last: boolean | undefined;
  readonly run: number;
  readonly runningSinceMs: number | undefined;
  readonly lookedAtMs: number | undefined;
}

export const FRESH: WorkerMemory = {
  containerId: undefined,
  onHold: false,
  last: undefined,
  run: 0,
  runningSinceMs: undefined,
  lookedAtMs: undefined,
};

export interface Look {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  readonly container: Container;
  readonly probe: Probe;
  /** The last status of the pod, also from before the agent started. */
  readonly status: PodStatus | undefined;
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** `result` undefined: forget what is stored for this id. */
export interface ResultWrite {
  readonly id: string;
  readonly result: boolean | undefined;
}

export interface Decision {
  readonly memory: WorkerMemory;
  readonly writes: readonly ResultWrite[];
  readonly next: 'skip' | 'probe' | 'exit';
}

const NOTHING: readonly ResultWrite[] = [];
/** The API's times are cut to the second, so an age that is read from them is up to this much too long. */
const TIME_GRAIN_MS = 1000;

/** The table of spec/probes.md §2.1, in its order. */
export function decide(look: Look, before: WorkerMemory): Decision {
  const { kind, status } = look;
  const memory = { ...before, lookedAtMs: look.monotonicMs };
  if (status === undefined) return { memory, writes: NOTHING, next: 'skip' };
  if (isOver(status)) return { memory, writes: NOTHING, next: 'exit' };
  const container = containerStatusOf(status, look.container.name);
  const id = idOf(container);
  if (container === undefined || id === undefined) return { memory, writes: NOTHING, next: 'skip' };
  const adopted = adopt(look, memory, container, id, before.lookedAtMs);
  return { ...adopted, ...inContainer(look, adopted, container, id, kind) };
}

/** Rows 5 to 11: the container is known. */
function inContainer(
  look: Look,
  { memory, writes }: Adopted,
  container: ContainerStatus,
  id: string,
  kind: ProbeKind,
): Pick<Decision, 'writes' | 'next'> {
  if (memory.onHold) return { writes, next: 'skip' };
  if (container.state.running === undefined) {
    const next = isEnded(look.pod, look.container, container) ? 'exit' : 'skip';
    // Unlike the kubelet: only readiness. A liveness failure stored for a container that is created,
    // but not yet started, would have it killed once it runs.
    return { writes: kind === 'readiness' ? [...writes, { id, result: false }] : writes, next };
  }
  if (look.pod.metadata.deletionTimestamp !== undefined && kind !== 'readiness') {
    return { writes: [...writes, { id, result: true }], next: 'exit' };
  }
  const runningMs = look.monotonicMs - (memory.runningSinceMs ?? look.monotonicMs);
  if (Math.floor(runningMs / 1000) < (look.probe.initialDelaySeconds ?? 0)) {
    return { writes, next: 'skip' };
  }
  // Before the container has started only the startup probe has its turn, and after it never.
  const itsTurn = container.started !== (kind === 'startup');
  return { writes, next: itsTurn ? 'probe' : 'skip' };
}

interface Adopted {
  readonly memory: WorkerMemory;
  readonly writes: readonly ResultWrite[];
}

/** Row 4, and since when the container has been running. */
function adopt(
  look: Look,
  before: WorkerMemory,
  container: ContainerStatus,
  id: string,
  lookedAtMs: number | undefined,
): Adopted {
  let memory = before;
  let writes = NOTHING;
  if (memory.containerId !== id) {
    const old = memory.containerId;
    const initial = { id, result: initialResult(look.kind, container) };
    writes = old === undefined ? [initial] : [{ id: old, result: undefined }, initial];
    memory = { ...memory, containerId: id, onHold: false, runningSinceMs: undefined };
  }
  const { running } = container.state;
  if (running === undefined || memory.runningSinceMs !== undefined) return { memory, writes };
  const age = ageOf(look, running.startedAt, lookedAtMs);
  return { memory: { ...memory, runningSinceMs: look.monotonicMs - age }, writes };
}

/**
 * What counts before the first result. Unlike the kubelet: what was last reported of this very container,
 * so that a restart of the agent makes no ready pod unready and gates nothing that was past its gate.
 * Of a container that is new, the status says not ready and not started.
 */
function initialResult(kind: ProbeKind, container: ContainerStatus): boolean | undefined {
  switch (kind) {
    case 'readiness':
      return container.ready;
    case 'liveness':
      return true;
    case 'startup':
      return container.started ? true : undefined;
  }
}

/**
 * Milliseconds since the start. Wall time is read once for each container and bounded by what the worker
 * saw itself, so that no jump of the clock skips or prolongs the initial delay.
 */
function ageOf(look: Look, startedAt: string | undefined, lookedAtMs: number | undefined): number {
  const started = Date.parse(startedAt ?? '');
  if (Number.isNaN(started)) return 0;
  const age = Math.max(0, look.wallMs - started);
  if (lookedAtMs === undefined) return age;
  return Math.min(age, look.monotonicMs - lookedAtMs + TIME_GRAIN_MS);
}

/** Whether a worker for this container has nothing to do any more, until the status says otherwise. */
export function isFinished(pod: Pod, container: Container, status: PodStatus | undefined): boolean {
  if (status === undefined) return false;
  if (isOver(status)) return true;
  const known = containerStatusOf(status, container.name);
  return known !== undefined && isEnded(pod, container, known);
}

function isOver(status: PodStatus): boolean {
  return status.phase === 'Failed' || status.phase === 'Succeeded';
}

function isEnded(pod: Pod, container: Container, status: ContainerStatus): boolean {
  const { terminated } = status.state;
  return terminated !== undefined && !shouldRestart(pod, container, terminated);
}

/** Of a regular container or a sidecar. */
export function containerStatusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  return (
    status.containerStatuses?.find((c) => c.name === name) ??
    status.initContainerStatuses?.find((c) => c.name === name)
  );
}

/** `containerd://ab12` is `ab12`. */
function idOf(container: ContainerStatus | undefined): string | undefined {
  const full = container?.containerID;
  if (full === undefined || full === '') return undefined;
  const prefix = full.indexOf('://');
  return prefix < 0 ? full : full.slice(prefix + 3);
}

export interface Conclusion {
  readonly memory: WorkerMemory;
  /** Whether this result is now what the container is known by. */
  readonly store: boolean;
}

/** One attempt gave `success` (spec §2.2). Attempts that could not run do not come here. */
export function conclude(
  kind: ProbeKind,
  probe: Probe,
  before: WorkerMemory,
  success: boolean,
): Conclusion {
  const run = before.last === success ? before.run + 1 : 1;
  const memory = { ...before, last: success, run };
  const store = run >= (success ? probe.successThreshold : probe.failureThreshold);
  if (!store) return { memory, store };
  const hold = kind === 'startup' || (kind === 'liveness' && !success);
  return { memory: hold ? { ...memory, onHold: true, run: 0 } : memory, store };
}
