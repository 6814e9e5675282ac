/**
 * Owns: the events that a verdict leaves on the pods of its file, so that `describe pod` shows why an
 * edit has no effect. A file without pods has nobody to put an event on; its verdict and the log tell.
 */
import { type EventRecorder, podTarget } from '../api/event.ts';
import { EventReason } from '../api/reasons.ts';
import { unreachable } from '../util/errors.ts';
import type { CandidatePod } from './candidate.ts';
import type { FileVerdict } from './verdict.ts';

/** The rest is in the verdict. */
const MOST_MESSAGES = 3;

/** `pods`: what the file provides at present. */
export function announce(
  events: EventRecorder,
  verdict: FileVerdict,
  pods: readonly CandidatePod[],
): void {
  switch (verdict.state) {
    case 'accepted':
      for (const { pod, warnings } of pods) {
        if (warnings.length === 0) continue;
        events.event(podTarget(pod), 'Warning', EventReason.ManifestWarning, text(warnings));
      }
      return;
    case 'invalid':
    case 'duplicate':
    case 'unreadable':
      for (const { pod } of pods) {
        const why = `${text(verdict.messages)}; the pod stays as it was`;
        events.event(podTarget(pod), 'Warning', EventReason.ManifestRejected, why);
      }
      return;
    case 'waiting':
    case 'ignored':
      return;
    default:
      unreachable(verdict.state);
  }
}

function text(messages: readonly string[]): string {
  const more = messages.length - MOST_MESSAGES;
  const shown = messages.slice(0, MOST_MESSAGES).join('; ');
  return more > 0 ? `${shown}; and ${more} more` : shown;
}
