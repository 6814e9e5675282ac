/**
 * Owns: when a container that exists must be killed, and the words for it (spec/pod-lifecycle.md §4.2).
 */
import type { Container } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';
import { containerHash } from './hash.ts';
import type { RuntimeContainerStatus } from './model.ts';
import type { ObjectHashes } from './object-hash.ts';
import { changedObject } from './object-hash.ts';
import type { ProbeVerdicts } from './plan-input.ts';
import type { Step } from './step.ts';
import { step } from './step.ts';

/** Why a running container must go, if it must (spec §4.2). */
export function reasonToKill(
  probes: ProbeVerdicts,
  container: Container,
  running: RuntimeContainerStatus,
): 'hash-changed' | 'liveness' | 'startup' | undefined {
  const hash = running.annotations[Annotation.containerHash];
  if (hash !== undefined && hash !== containerHash(container)) return 'hash-changed';
  if (probes.livenessFailed(running.id)) return 'liveness';
  if (probes.startupFailed(running.id)) return 'startup';
  return undefined;
}

/** A step for a container of a pod that asks for it, when an object that it uses changed. */
export function killForChange(
  hashes: ObjectHashes | undefined,
  running: RuntimeContainerStatus,
  isInit = false,
): Step | undefined {
  const changed = changedObject(hashes, running);
  if (changed === undefined) return undefined;
  const { id, name } = running;
  const what = isInit ? 'Init container' : 'Container';
  const message = `${what} ${name} uses ${changed}, which changed, will be restarted`;
  return step('killContainer', { id, name, reason: 'object-changed', message });
}

export function killOf(
  container: RuntimeContainerStatus,
  reason: 'hash-changed' | 'liveness' | 'startup' | 'unknown-state',
  restarts = true,
  isInit = false,
): Step {
  const what = isInit ? 'Init container' : 'Container';
  const again = restarts ? ', will be restarted' : '';
  const messages = {
    'hash-changed': `${what} ${container.name} definition changed, will be restarted`,
    liveness: `${what} ${container.name} failed liveness probe${again}`,
    startup: `${what} ${container.name} failed startup probe${again}`,
    'unknown-state': `${what} is in "unknown" state, try killing it before restart`,
  };
  const { id, name } = container;
  return step('killContainer', { id, name, reason, message: messages[reason] });
}
