/**
 * Owns: the table of known objects: open addressing with linear probing over a dense array.
 *
 *   base
 *   | entries: count * ENTRY_BYTES | slots: u32 * slotCount | ids, one after the other |
 *
 *   entry   | hash | id offset | id length | generation | kind, state << 8 |     u32 each
 *   slot    index of an entry plus one; 0 is free
 *
 * Invariants: slotCount is a power of two and at least twice the number of entries, so a probe always
 * meets a free slot; offsets are relative to `base`, so the whole table may be moved; ids are compared
 * whole, the hash only spares comparisons; the key is kind and id together.
 * Nothing is ever deleted: objects that vanished are left out when the table is built anew.
 */

export const ENTRY_BYTES: usize = 20;
const ENTRY_ID: usize = 4;
const ENTRY_ID_LENGTH: usize = 8;
const ENTRY_GENERATION: usize = 12;
const ENTRY_META: usize = 16;

const SMALLEST_SLOTS: u32 = 16;

/** Of a table that will hold up to `entries` objects. */
export function slotsFor(entries: u32): u32 {
  let slots = SMALLEST_SLOTS;
  while (slots < entries * 2) slots <<= 1;
  return slots;
}

/** Bytes of such a table with `idBytes` of ids. */
export function tableBytes(entries: u32, idBytes: u64): u64 {
  return <u64>entries * ENTRY_BYTES + <u64>slotsFor(entries) * 4 + idBytes;
}

/** A view of one table; `capacity` is the number of entries that its layout has room for. */
@unmanaged
export class Table {
  base: usize;
  capacity: u32;
  slotCount: u32;
  count: u32;
  idBytes: u32;

  /** An empty table at `base`; the memory must be reserved. */
  reset(base: usize, capacity: u32): void {
    this.base = base;
    this.capacity = capacity;
    this.slotCount = slotsFor(capacity);
    this.count = 0;
    this.idBytes = 0;
    memory.fill(this.slots(), 0, (<usize>this.slotCount) << 2);
  }

  @inline
  slots(): usize {
    return this.base + <usize>this.capacity * ENTRY_BYTES;
  }

  @inline
  ids(): usize {
    return this.slots() + ((<usize>this.slotCount) << 2);
  }

  /** Just behind the last byte in use. */
  @inline
  end(): usize {
    return this.ids() + this.idBytes;
  }

  moveTo(base: usize): void {
    memory.copy(base, this.base, this.end() - this.base);
    this.base = base;
  }

  @inline
  entry(index: u32): usize {
    return this.base + <usize>index * ENTRY_BYTES;
  }

  /** Address of the entry of (kind, id), or 0. */
  find(hash: u32, kind: u32, id: usize, length: u32): usize {
    const slots = this.slots();
    const mask = this.slotCount - 1;
    let slot = hash & mask;
    while (true) {
      const reference = load<u32>(slots + ((<usize>slot) << 2));
      if (reference === 0) return 0;
      const entry = this.entry(reference - 1);
      if (load<u32>(entry) === hash && this.holds(entry, kind, id, length)) return entry;
      slot = (slot + 1) & mask;
    }
  }

  private holds(entry: usize, kind: u32, id: usize, length: u32): bool {
    if (load<u32>(entry, ENTRY_ID_LENGTH) !== length || kindOf(entry) !== kind) return false;
    return equalBytes(this.idOf(entry), id, length);
  }

  /** Adds what is not there yet; there must be room. */
  insert(hash: u32, kind: u32, state: u32, generation: u32, id: usize, length: u32): void {
    const slots = this.slots();
    const mask = this.slotCount - 1;
    let slot = hash & mask;
    while (load<u32>(slots + ((<usize>slot) << 2)) !== 0) slot = (slot + 1) & mask;
    const entry = this.entry(this.count);
    store<u32>(slots + ((<usize>slot) << 2), ++this.count);
    const at = this.end();
    memory.copy(at, id, length);
    store<u32>(entry, hash);
    store<u32>(entry, <u32>(at - this.base), ENTRY_ID);
    store<u32>(entry, length, ENTRY_ID_LENGTH);
    store<u32>(entry, generation, ENTRY_GENERATION);
    store<u32>(entry, kind | (state << 8), ENTRY_META);
    this.idBytes += length;
  }

  @inline
  idOf(entry: usize): usize {
    return this.base + load<u32>(entry, ENTRY_ID);
  }
}

export function hashOf(entry: usize): u32 {
  return load<u32>(entry);
}

export function idLengthOf(entry: usize): u32 {
  return load<u32>(entry, ENTRY_ID_LENGTH);
}

export function kindOf(entry: usize): u32 {
  return load<u8>(entry, ENTRY_META);
}

export function stateOf(entry: usize): u32 {
  return load<u8>(entry, ENTRY_META + 1);
}

export function setState(entry: usize, state: u32): void {
  store<u8>(entry, state, ENTRY_META + 1);
}

export function generationOf(entry: usize): u32 {
  return load<u32>(entry, ENTRY_GENERATION);
}

export function setGeneration(entry: usize, generation: u32): void {
  store<u32>(entry, generation, ENTRY_GENERATION);
}

function equalBytes(a: usize, b: usize, length: u32): bool {
  let i: usize = 0;
  const size = <usize>length;
  for (; i + 8 <= size; i += 8) if (load<u64>(a + i) !== load<u64>(b + i)) return false;
  for (; i < size; i++) if (load<u8>(a + i) !== load<u8>(b + i)) return false;
  return true;
}

/** Seeded, so that ids chosen to collide would have to be chosen for this very process. */
export function hashId(seed: u64, kind: u32, id: usize, length: u32): u32 {
  let hash = seed ^ (((<u64>kind) << 32) | (<u64>length));
  let i: usize = 0;
  const size = <usize>length;
  for (; i + 8 <= size; i += 8) hash = mix(hash ^ load<u64>(id + i));
  let rest: u64 = 0;
  for (; i < size; i++) rest = (rest << 8) | (<u64>load<u8>(id + i));
  hash = mix(hash ^ rest);
  return <u32>(hash ^ (hash >> 32));
}

function mix(value: u64): u64 {
  const product = (value ^ (value >> 32)) * 0x9e3779b97f4a7c15;
  return product ^ (product >> 29);
}
