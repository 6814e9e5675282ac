/**
 * Owns: what a failed pull is to the user: its reason, its message, and what an image in the store
 * changes about it (spec: pod-lifecycle.md §8).
 * Invariants: pure; no password or token that a registry repeats in its answer is in a message.
 */
import { WaitingReason } from '../api/reasons.ts';
import { runtimeText } from '../cri/errors.ts';
import type { AuthConfig, Image } from '../cri/model.ts';
import { pullFault } from '../cri/pull-fault.ts';
import { IsletError, codeOf } from '../util/errors.ts';
import { repositoryOf } from './repository.ts';

export interface PullFailure {
  readonly reason: WaitingReason;
  readonly message: string;
  /** The runtime's words, for the event. */
  readonly text: string;
  /** Whether nobody could be asked about the image. */
  readonly unreachable: boolean;
}

/** The failure of every credential that was tried, as one. */
export class PullError extends IsletError {
  readonly unreachable: boolean;

  constructor(failures: readonly { text: string; unreachable: boolean; cause: unknown }[]) {
    // As Go joins errors: each text once, and alone without brackets.
    const texts = [...new Set(failures.map(({ text }) => text))];
    const joined = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
    const [first] = failures;
    super(codeOf(first?.cause) ?? 'failed', joined);
    this.name = 'PullError';
    this.unreachable = failures.length > 0 && failures.every((failure) => failure.unreachable);
  }
}

/** One credential's failure, without what is secret of it. */
export function attemptFailure(
  cause: unknown,
  auth: AuthConfig | undefined,
): { text: string; unreachable: boolean; cause: unknown } {
  const text = withoutSecrets(runtimeText(cause), auth);
  return { text, unreachable: pullFault(cause) === 'unreachable', cause };
}

/** `image` as the pod names it. */
export function pullFailure(image: string, error: unknown): PullFailure {
  const text = runtimeText(error);
  const unreachable = error instanceof PullError && error.unreachable;
  // The runtime marks two kinds of failure by the first word of its message: its only channel.
  const marked = (reason: WaitingReason, why: string): PullFailure => {
    const message = `image pull failed for ${image} because the ${why}${text.slice(reason.length)}`;
    return { reason, message, text, unreachable };
  };
  if (text.startsWith(WaitingReason.RegistryUnavailable))
    return marked(WaitingReason.RegistryUnavailable, 'registry is unavailable');
  if (text.startsWith(WaitingReason.SignatureValidationFailed))
    return marked(WaitingReason.SignatureValidationFailed, 'signature validation failed');
  const hint = codeOf(error) === 'unavailable' ? ' (the container runtime does not answer)' : '';
  return { reason: WaitingReason.ErrImagePull, message: text + hint, text, unreachable };
}

/** What to add to a failure when the image is in the store, and may be used but for the policy. */
export function couldUseCached(cached: Image, image: string): string {
  return (
    ` (the registry cannot be reached, but the image is in the store: ${digestOf(cached, image)};` +
    ' the pod annotation islet.dev/image-policy: newest-else-cached, or imagePolicy:' +
    ' newest-else-cached in the IsletConfiguration, would use it)'
  );
}

/** What to add when the image is in the store for others only. */
export const NOT_FOR_THIS_POD =
  ' (the image is in the store, but it was pulled with a pull secret that this pod does not name)';

/** The digest of an image's manifest in the repository it is asked for from; else its id. */
export function digestOf(image: Image, name: string): string {
  const digests = image.repoDigests.map((digest) => digest.split('@') as [string, string?]);
  const own = digests.find(([repository]) => repositoryOf(repository) === repositoryOf(name));
  return (own ?? digests[0])?.[1] ?? image.id;
}

/** Registries and proxies have been seen to repeat what they were sent. */
export function withoutSecrets(text: string, auth: AuthConfig | undefined): string {
  let out = text.replaceAll(/\b(Basic|Bearer) +[A-Za-z0-9._~+/-]{8,}=*/gi, '$1 ***');
  if (!auth || auth.password === '') return out;
  const basic = Buffer.from(`${auth.username}:${auth.password}`).toString('base64');
  const forms = [
    basic,
    basic.replace(/=+$/, ''),
    auth.password,
    encodeURIComponent(auth.password),
    new URLSearchParams({ p: auth.password }).toString().slice(2),
  ];
  for (const form of forms) out = out.replaceAll(form, '***');
  return out;
}
