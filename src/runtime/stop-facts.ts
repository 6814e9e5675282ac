/**
 * Owns: what stopping a container depends on (spec: pod-lifecycle.md §9): from the manifest, or, when that is
 * gone, from what the container itself remembers in its annotations. Pure.
 */
import type { Container, ContainerPort, LifecycleHandler, Pod } from '../api/pod.ts';
import { namedContainer } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';

/** A container that is to be stopped, as far as it tells about itself. */
export interface Stoppable {
  readonly id: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Where nothing says how long a container may take. */
const DEFAULT_GRACE_S = 2;

/** Seconds, before any override; `probeSeconds` is what the probe brings for whose failure it is killed. */
export function graceOf(
  pod: Pod | undefined,
  container: Stoppable,
  probeSeconds: number | undefined,
): number {
  if (pod) {
    const { deletionGracePeriodSeconds } = pod.metadata;
    return deletionGracePeriodSeconds ?? probeSeconds ?? pod.spec.terminationGracePeriodSeconds;
  }
  const deletion = secondsOf(container, Annotation.podDeletionGracePeriod);
  return deletion ?? secondsOf(container, Annotation.podTerminationGracePeriod) ?? DEFAULT_GRACE_S;
}

export function preStopOf(
  pod: Pod | undefined,
  container: Stoppable,
): LifecycleHandler | undefined {
  const spec = pod && namedContainer(pod, container.name);
  if (spec) return spec.lifecycle?.preStop;
  return remembered(container, Annotation.preStopHandler) as LifecycleHandler | undefined;
}

/** The named ports, which a hook may refer to. */
export function portsOf(pod: Pod | undefined, container: Stoppable): ReadonlyMap<string, number> {
  const spec = pod && namedContainer(pod, container.name);
  return namedPorts(spec ? spec.ports : rememberedPorts(container));
}

/** The ports that the container was made with, as far as they are what islet wrote. */
export function rememberedPorts(container: Pick<Stoppable, 'annotations'>): ContainerPort[] {
  const ports = remembered(container, Annotation.containerPorts);
  return Array.isArray(ports) ? (ports as (ContainerPort | null)[]).filter((p) => p !== null) : [];
}

export function namedPorts(ports: Container['ports']): ReadonlyMap<string, number> {
  return new Map((ports ?? []).flatMap((p) => (p.name ? [[p.name, p.containerPort]] : [])));
}

function secondsOf(container: Stoppable, annotation: string): number | undefined {
  const kept = Number(container.annotations[annotation] ?? NaN);
  return Number.isInteger(kept) && kept >= 0 ? kept : undefined;
}

/** Written by somebody else, or not at all: the stop must go on without it. */
function remembered(container: Pick<Stoppable, 'annotations'>, annotation: string): unknown {
  const kept = container.annotations[annotation];
  if (!kept) return undefined;
  try {
    return JSON.parse(kept) ?? undefined;
  } catch {
    return undefined;
  }
}
