/**
 * Owns: the order in which pods are evicted (spec eviction.md §5). Columns in, order out, by a merge sort
 * over keys that are made once: stable, and never slower than n log n whatever the columns hold.
 *
 *   base (behind the table of the relist, which is kept)
 *   | usage f64 * n | request f64 * n | priority i32 * n | order u32 * n | flags u8 * n | keys * n | keys * n |
 *
 *   key     | class and priority u64 | excess f64 | row u32 | - |        24 bytes; two buffers to merge between
 *
 *   RANK_BY_USE        class: 0 without stats, 1 over its request, 2 not; then priority; then excess
 *   RANK_BY_PRIORITY   priority; then without stats before with; then excess
 *
 * Smaller class and priority come first, larger excess (usage above request) comes first.
 * Invariants: both columns hold integers up to 2^53, so their difference is exact; a row that holds no
 * number is only put somewhere, nothing else goes wrong.
 */
import {
  ERROR_MEMORY,
  ERROR_ORDER,
  ERROR_TOO_MANY,
  MAX_ENTRIES,
  RANK_BY_PRIORITY,
  RANK_BY_USE,
  RANK_FLAG_OVER,
  RANK_FLAG_STATS,
} from './layout';
import { align, reserve } from './memory';
import { scratchAt } from './pleg';

const KEY_BYTES: usize = 24;
const KEY_EXCESS: usize = 8;
const KEY_ROW: usize = 16;

/** What the last `rankPrepare` made room for; -1 when it was ranked. */
let prepared: i64 = -1;
let base: usize = 0;

/**
 * Makes room for `count` rows and says where the columns go, one right behind the other in the order
 * above; or an error code. Ends the life of the records of the relist. Memory may grow here.
 */
export function rankPrepare(count: u32): i32 {
  prepared = -1;
  if (count > <u32>MAX_ENTRIES) return ERROR_TOO_MANY;
  base = scratchAt();
  if (!reserve(<u64>keysAt(count) + <u64>count * (2 * KEY_BYTES))) return ERROR_MEMORY;
  prepared = <i64>count;
  return <i32>base;
}

/** Fills the order column with row numbers, the first to be evicted first; 0 or an error code. */
export function rank(count: u32, mode: u32): i32 {
  const expected = prepared;
  prepared = -1;
  if (<i64>count !== expected) return ERROR_ORDER;
  if (mode !== <u32>RANK_BY_USE && mode !== <u32>RANK_BY_PRIORITY) return ERROR_ORDER;
  let from = keysAt(count);
  let to = from + <usize>count * KEY_BYTES;
  makeKeys(from, count, mode);
  for (let width: u32 = 1; width < count; width <<= 1) {
    mergeRuns(from, to, count, width);
    const sorted = to;
    to = from;
    from = sorted;
  }
  const order = base + <usize>count * 20;
  for (let i: u32 = 0; i < count; i++) {
    store<u32>(order + <usize>i * 4, load<u32>(from + <usize>i * KEY_BYTES, KEY_ROW));
  }
  return 0;
}

function keysAt(count: u32): usize {
  return align(base + <usize>count * 25);
}

function makeKeys(keys: usize, count: u32, mode: u32): void {
  const request = base + <usize>count * 8;
  const priority = base + <usize>count * 16;
  const flags = base + <usize>count * 24;
  for (let i: u32 = 0; i < count; i++) {
    const key = keys + <usize>i * KEY_BYTES;
    const at = <usize>i * 8;
    const flag = <u32>load<u8>(flags + <usize>i);
    const hasStats = (flag & RANK_FLAG_STATS) !== 0;
    const ordered = <u64>(load<u32>(priority + <usize>i * 4) ^ 0x80000000);
    store<u64>(
      key,
      mode === <u32>RANK_BY_USE ? byUse(flag, ordered) : (ordered << 1) | (<u64>hasStats),
    );
    store<f64>(key, hasStats ? load<f64>(base + at) - load<f64>(request + at) : 0, KEY_EXCESS);
    store<u32>(key, i, KEY_ROW);
  }
}

function byUse(flag: u32, priority: u64): u64 {
  if ((flag & RANK_FLAG_STATS) === 0) return priority;
  return ((flag & RANK_FLAG_OVER) !== 0 ? (<u64>1) << 32 : (<u64>2) << 32) | priority;
}

/** Merges neighbouring runs of `width` keys; a run without a neighbour is copied. */
function mergeRuns(from: usize, to: usize, count: u32, width: u32): void {
  const run = <usize>width * KEY_BYTES;
  const end = from + <usize>count * KEY_BYTES;
  let out = to;
  for (let left = from; left < end; left += 2 * run) {
    const middle = min(left + run, end);
    const stop = min(middle + run, end);
    let a = left;
    let b = middle;
    while (a < middle && b < stop) {
      // Only what is strictly before goes ahead: that makes it stable.
      if (isBefore(b, a)) {
        memory.copy(out, b, KEY_BYTES);
        b += KEY_BYTES;
      } else {
        memory.copy(out, a, KEY_BYTES);
        a += KEY_BYTES;
      }
      out += KEY_BYTES;
    }
    memory.copy(out, a, middle - a);
    out += middle - a;
    memory.copy(out, b, stop - b);
    out += stop - b;
  }
}

function isBefore(a: usize, b: usize): bool {
  const first = load<u64>(a);
  const second = load<u64>(b);
  if (first !== second) return first < second;
  return load<f64>(a, KEY_EXCESS) > load<f64>(b, KEY_EXCESS);
}
