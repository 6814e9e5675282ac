/**
 * Owns: what a manifest says of an earlier life of its pod on some cluster, as a dump of `kubectl get -o yaml`
 * does: that it is being deleted, that it is the mirror of another pod. It means nothing here.
 * Unlike the kubelet, which never starts the one pod and never even lists the other: a warning names the
 * field, and the pod runs without it.
 */
import type { Pod } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';
import type { Unhonoured } from './unhonoured.ts';

const IGNORED = 'ignored: it belongs to an earlier life of the pod, and this one is to run';

/** One warning for each such field, at its place. */
export function pastLifeWarnings({ metadata }: Pod): Unhonoured[] {
  const paths = [];
  if (metadata.deletionTimestamp !== undefined) paths.push('metadata.deletionTimestamp');
  if (isMirror(metadata)) paths.push(`metadata.annotations[${Annotation.configMirror}]`);
  return paths.map((path) => ({ path, message: IGNORED }));
}

/** The pod as it runs here; the same object where there is nothing to leave out. */
export function withoutPastLife(pod: Pod): Pod {
  if (pastLifeWarnings(pod).length === 0) return pod;
  const { deletionTimestamp, deletionGracePeriodSeconds, annotations, ...metadata } = pod.metadata;
  const own = Object.entries(annotations ?? {}).filter(([key]) => key !== Annotation.configMirror);
  // A grace period without a deletion is a wish of its own.
  const keepsGrace = deletionTimestamp === undefined && deletionGracePeriodSeconds !== undefined;
  return {
    ...pod,
    metadata: {
      ...metadata,
      ...(keepsGrace ? { deletionGracePeriodSeconds } : {}),
      annotations: Object.fromEntries(own),
    },
  };
}

function isMirror({ annotations }: Pod['metadata']): boolean {
  return annotations?.[Annotation.configMirror] !== undefined;
}
