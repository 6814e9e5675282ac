/**
 * Owns: linear memory above the compiler's static data. There is no allocator: three regions follow
 * one another, and everything but the table lives for one relist only.
 *
 *   heap base
 *   | table (kept) | lists (written by the host) | parsed entries | records | next table |
 *
 * A scan that has to rebuild the table writes the next one at the end; the next `prepare` moves it
 * down to the heap base, which is safe because a table holds only offsets relative to its own start.
 * Invariant: nothing is read or written at or above `memory.size()` pages; `reserve` says no first.
 */

const PAGE_BITS: usize = 16;
const ALIGN: usize = 8;

/** Where the first region begins. */
export function regionStart(): usize {
  return align(__heap_base);
}

export function align(address: usize): usize {
  return (address + (ALIGN - 1)) & ~(ALIGN - 1);
}

/**
 * Makes sure that memory reaches up to `end` (exclusive). False when it does not fit the maximum.
 * Takes 64 bits so that no sum of sizes wraps around on its way here.
 */
export function reserve(end: u64): bool {
  const pages = (end + ((1 << PAGE_BITS) - 1)) >> PAGE_BITS;
  if (pages > 65536) return false;
  const missing = <i32>pages - memory.size();
  if (missing <= 0) return true;
  return memory.grow(missing) >= 0;
}
