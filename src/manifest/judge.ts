/**
 * Owns: the verdict on one file, from what it provides, what was read of it and who else wants its
 * pods. Pure.
 */
import { podName } from './candidate.ts';
import type { Good } from './last-good.ts';
import type { Reading } from './reader.ts';
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

export function judge(holding: Holding, reading: Reading, refusal: Refusal | undefined): Judgement {
  const { file, held } = holding;
  const { candidate, trouble } = reading;
  const common = {
    file,
    pods: (held?.pods ?? []).map(({ pod }) => podName(pod)),
    warnings: (candidate ?? held)?.warnings ?? [],
    usingLastGood: held !== undefined && (!candidate || candidate.digest !== held.digest),
  };
  if (trouble) {
    const usingLastGood = held !== undefined;
    return { ...common, state: trouble.state, messages: [trouble.reason], usingLastGood };
  }
  if (!candidate) return { ...common, state: 'waiting', messages: [`${file}: it is changing`] };
  if (candidate.kind === 'invalid') {
    return { ...common, state: 'invalid', messages: candidate.messages };
  }
  if (refusal) return { ...common, ...refused(file, refusal) };
  return { ...common, state: 'accepted', messages: [] };
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
