/**
 * Owns: FNV-1a with 32 bits, the hash that the kubelet uses for small identities.
 */
const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/** FNV-1a-32 of the UTF-8 bytes of `text`, as an unsigned number. */
export function fnv1a32(text: string): number {
  let hash = OFFSET;
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, PRIME) >>> 0;
  return hash;
}
