/**
 * Owns: whether a pod may use an image that is in the store already: only if it could have pulled it
 * itself (spec: gc-logs-images.md §6).
 * Unlike the kubelet: a pod counts as having a pull secret when it names it, also while the Secret is
 * not there, so that taking a Secret away never keeps a container of a running pod from starting again; and no
 * hash of a credential is kept, so a copy of the Secret under another name does not count. A name that
 * the image has in the store, but that islet did not pull it by, was given to it by whoever imported or
 * tagged it: by that name it is a preloaded image, where the kubelet would ask a registry that may be none.
 */
import type { VerificationPolicy } from '../config/model.ts';
import type { Image } from '../cri/model.ts';
import type {
  ImageAccessRecord,
  ImageAccessRecords,
  RepositoryAccess,
} from '../store/image-access.ts';
import { fullImageName, repositoryOf } from './repository.ts';

/** Whose credentials pulled an image: nobody's in particular, or those of a pull secret. */
export type CredentialOrigin =
  | { readonly kind: 'node' }
  /** `NAMESPACE/NAME`. */
  | { readonly kind: 'secret'; readonly secret: string };

export interface ImageAccessDeps {
  readonly policy: VerificationPolicy;
  /** Repositories, or `prefix/*`, that need no verification. */
  readonly allowlist: readonly string[];
  readonly records: ImageAccessRecords;
}

export type StoredImage = Pick<Image, 'id' | 'repoTags' | 'repoDigests'>;

export class ImageAccess {
  readonly #deps: ImageAccessDeps;

  constructor(deps: ImageAccessDeps) {
    this.#deps = deps;
  }

  /** `name`: the image as the pod asks for it; `secrets`: `NAMESPACE/NAME` of the pod's pull secrets. */
  mayUse(name: string, image: StoredImage, secrets: readonly string[]): boolean {
    const { policy, allowlist, records } = this.#deps;
    const repository = repositoryOf(name);
    const record = records.get(image.id);
    const pulled =
      records.isPulling(fullImageName(name)) ||
      (record !== undefined && (Object.hasOwn(record, repository) || !isIn(image, repository)));
    if (!needsVerification(policy, { repository, pulled, allowlist })) return true;
    return admits(record?.[repository], secrets);
  }

  /**
   * To be called before a pull with any credentials of a pull secret. Returns what to call when it has
   * failed and left no image: it does nothing where another pull of that name had begun, now or before a
   * crash, which may have left one.
   */
  begin(name: string): () => void {
    const { records } = this.#deps;
    const full = fullImageName(name);
    return records.beginPull(full) ? () => records.endPull(full) : () => undefined;
  }

  /** The pull has worked with these credentials. */
  pulled(name: string, id: string, origin: CredentialOrigin): void {
    const { records } = this.#deps;
    const before = records.get(id) ?? {};
    const after = withAccess(before, repositoryOf(name), origin);
    if (after !== before) records.put(id, after);
    records.endPull(fullImageName(name));
  }

  /** Forgets images that are gone. Records made while the list is on its way stay. */
  async prune(list: () => Promise<readonly StoredImage[]>): Promise<void> {
    const { records } = this.#deps;
    const known = records.images();
    if (known.length === 0) return;
    const present = new Set((await list()).map(({ id }) => id));
    for (const id of known) if (!present.has(id)) records.delete(id);
  }
}

/** What is known of an image, as far as a policy asks. */
export interface VerificationFacts {
  readonly repository: string;
  /** Whether islet pulled it; else it came by other ways. */
  readonly pulled: boolean;
  readonly allowlist: readonly string[];
}

export function needsVerification(policy: VerificationPolicy, facts: VerificationFacts): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return facts.pulled;
    case 'NeverVerifyAllowlistedImages':
      return !facts.allowlist.some((pattern) => isListed(pattern, facts.repository));
    case 'AlwaysVerify':
      return true;
  }
}

/** Whether the store has the image by a name in this repository: not so when it was asked for by its id. */
function isIn(image: StoredImage, repository: string): boolean {
  return [...image.repoTags, ...image.repoDigests].some(
    (name) => repositoryOf(name) === repository,
  );
}

/** The pattern is a repository, or ends in `/*` and stands for all below. */
function isListed(pattern: string, repository: string): boolean {
  return pattern.endsWith('/*')
    ? repository.startsWith(pattern.slice(0, -1))
    : repository === pattern;
}

function admits(access: RepositoryAccess | undefined, secrets: readonly string[]): boolean {
  if (!access) return false;
  return access.everyone || access.secrets.some((secret) => secrets.includes(secret));
}

/** The record with this access added; the same object when it was there. */
export function withAccess(
  record: ImageAccessRecord,
  repository: string,
  origin: CredentialOrigin,
): ImageAccessRecord {
  const before = record[repository] ?? { everyone: false, secrets: [] };
  if (before.everyone) return record;
  if (origin.kind === 'node') return { ...record, [repository]: { everyone: true, secrets: [] } };
  if (before.secrets.includes(origin.secret)) return record;
  const secrets = [...before.secrets, origin.secret];
  return { ...record, [repository]: { everyone: false, secrets } };
}
