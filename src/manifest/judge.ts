/**
 * Owns: the verdict on one file, from what it provides, what was read of it and who else wants its
 * pods. Pure.
 */
import { documentText, podName } from './candidate.ts';
import type { Good } from './last-good.ts';
import { problemText } from './model.ts';
import type { Reading } from './reader.ts';
import { modeWarnings } from './secret-file.ts';
import type { Judgement } from './verdict.ts';

/** One file as the source holds it. */
export interface Holding {
  readonly file: string;
  /** What its pods come from; undefined: it never had content that was taken. */
  readonly held: Good | undefined;
  /** Monotonic time since which the file is not in the directory. */
  readonly leavingSince?: number | undefined;
}

export interface Refusal {
  /** `pod <namespace>/<name>` or `uid <uid>`. */
  readonly key: string;
  readonly owner: Holding | undefined;
}

/** `notes`: what the objects of the file have to say. */
export function judge(
  holding: Holding,
  reading: Reading,
  refusal: Refusal | undefined,
  notes: readonly string[] = [],
): Judgement {
  const { file, held } = holding;
  const { candidate, trouble } = reading;
  const objects = (candidate?.kind === 'valid' ? candidate : held)?.objects ?? [];
  const common = {
    file,
    pods: (held?.pods ?? []).map(({ pod }) => podName(pod)),
    warnings: [
      ...((candidate ?? held)?.warnings ?? []),
      ...modeWarnings(reading.mode, objects).map((problem) => problemText(problem, file)),
      ...notes,
    ],
    usingLastGood: held !== undefined && (!candidate || candidate.digest !== held.digest),
  };
  if (trouble) {
    const usingLastGood = held !== undefined;
    const messages = [trouble.reason, ...withheldNote(holding)];
    return { ...common, state: trouble.state, messages, usingLastGood };
  }
  if (!candidate) return { ...common, state: 'waiting', messages: [`${file}: it is changing`] };
  if (candidate.kind === 'invalid') {
    const messages = [...candidate.messages, ...withheldNote(holding)];
    return { ...common, state: 'invalid', messages };
  }
  if (refusal) {
    const { state, messages } = refused(file, refusal);
    return { ...common, state, messages: [...messages, ...withheldNote(holding)] };
  }
  return { ...common, state: 'accepted', messages: [] };
}

/** Values of Secrets do not outlive the agent, so a file that is broken at its start has none. */
function withheldNote({ file, held }: Holding): string[] {
  const names = (held?.withheld ?? []).map(documentText);
  if (names.length === 0) return [];
  const are =
    names.length === 1
      ? 'is missing until the file is accepted again: its values are'
      : 'are missing until the file is accepted again: their values are';
  return [`${file}: ${names.join(', ')} ${are} not kept`];
}

function refused(file: string, { key, owner }: Refusal): Pick<Judgement, 'state' | 'messages'> {
  const name = owner?.file ?? 'another file';
  // Most likely a rename: the owner is about to give the pod up.
  if (owner?.leavingSince !== undefined) {
    return { state: 'waiting', messages: [`${file}: ${key} is given up by ${name}`] };
  }
  const message = `${file}: ${key} is provided by ${name} already; remove it from one of them`;
  return { state: 'duplicate', messages: [message] };
}
