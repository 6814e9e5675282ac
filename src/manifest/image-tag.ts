/**
 * Owns: the tag of an image reference, as far as the default pull policy needs it.
 * Leaves to others: resolving and pulling images (image/).
 */
import type { PullPolicy } from '../api/pod.ts';

const REFERENCE =
  /^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(?::[0-9]+)?\/|\[[0-9a-fA-F:]+\](?::[0-9]+)?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::([\w][\w.-]{0,127}))?(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$/;

/**
 * `Always` for the tag `latest`, written or implied, else `IfNotPresent` (spec static-pods §3.2).
 * What is no reference at all has no tag either; such a pod fails later with InvalidImageName.
 */
export function defaultPullPolicy(image: string | undefined): PullPolicy {
  const match = image === undefined || image.length > 1024 ? null : REFERENCE.exec(image);
  if (!match) return 'IfNotPresent';
  const [, tag, digest] = match;
  return tag === 'latest' || (tag === undefined && digest === undefined)
    ? 'Always'
    : 'IfNotPresent';
}
