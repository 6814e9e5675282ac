/**
 * Owns: which file provides a pod when several want to. Pure.
 * Rules: a file is taken whole or not at all; a key belongs to the file that provides it already ("the
 * first to have run stays"), else to the first in the order given; a file that is refused keeps what
 * it held. Only the final state counts: two files that swapped their pods are both taken.
 * Unlike the kubelet: there the lexicographically last file wins silently (spec: static-pods.md §2.3).
 */
export interface Claim {
  readonly file: string;
  /** Keys of the pods that the file provides at present; no two files hold one key. */
  readonly held: readonly string[];
  /** Keys of its newest valid content; undefined: there is none, it keeps what it holds. */
  readonly wanted: readonly string[] | undefined;
}

export interface Conflict {
  readonly key: string;
  /** The file that has the key. */
  readonly owner: string;
}

/** The files whose newest content is refused, with the first key that stands in the way. */
export function refusedClaims(claims: readonly Claim[]): Map<string, Conflict> {
  const refused = new Map<string, Conflict>();
  const keysOf = (claim: Claim): readonly string[] =>
    claim.wanted && !refused.has(claim.file) ? claim.wanted : claim.held;
  // Each round refuses at least one more file, so this ends.
  while (refuseLosers(claims, keysOf, refused));
  // Each further round readmits at least one, so this ends too; the last one names the owners.
  while (readmitOne(claims, keysOf, refused));
  return refused;
}

function refuseLosers(
  claims: readonly Claim[],
  keysOf: (claim: Claim) => readonly string[],
  refused: Map<string, Conflict>,
): boolean {
  const owners = ownersOf(claims, keysOf);
  const before = refused.size;
  for (const claim of claims) {
    if (!claim.wanted || refused.has(claim.file)) continue;
    const key = claim.wanted.find((k) => owners.get(k) !== claim.file);
    if (key !== undefined) refused.set(claim.file, { key, owner: owners.get(key) ?? '' });
  }
  return refused.size > before;
}

/** A file refused because of one that was refused itself later may have its way after all. */
function readmitOne(
  claims: readonly Claim[],
  keysOf: (claim: Claim) => readonly string[],
  refused: Map<string, Conflict>,
): boolean {
  for (const claim of claims) {
    if (!claim.wanted || !refused.has(claim.file)) continue;
    const others = claims.filter((other) => other !== claim);
    const owners = ownersOf(others, keysOf);
    const key = claim.wanted.find((k) => owners.has(k));
    if (key === undefined) return refused.delete(claim.file);
    refused.set(claim.file, { key, owner: owners.get(key) ?? '' });
  }
  return false;
}

function ownersOf(
  claims: readonly Claim[],
  keysOf: (claim: Claim) => readonly string[],
): Map<string, string> {
  const owners = new Map<string, string>();
  for (const claim of claims) {
    for (const key of keysOf(claim)) {
      if (!owners.has(key) || claim.held.includes(key)) owners.set(key, claim.file);
    }
  }
  return owners;
}
