/**
 * Owns: the relist. Walks the raw answers of ListContainers and ListPodSandbox, compares them with the
 * table of known objects and writes one record per change (layouts: layout.ts, table.ts, memory.ts).
 *
 * Two steps, so that a bad answer changes nothing:
 *   parse    wire bytes -> parsed entries, each looked up; every error comes from here or from the
 *            reservation after it
 *   commit   mark what is known, and only where objects came or went, build the table anew; cannot fail
 *
 *   parsed entry   | address | length | id address | id length | kind, state << 8 | hash | known |
 *                  `known` is the address of its table entry, or 0
 *
 * Invariants: an id that a list repeats counts once, its first entry wins (as in the kubelet); records
 * come as changed, appeared, vanished, each in the order of list or table; a relist without a change
 * writes nothing but generations and counters.
 */
import {
  CONTAINER_FIELD_STATE,
  COUNTER_WORDS,
  CRI_CONTAINER_CREATED,
  CRI_CONTAINER_EXITED,
  CRI_CONTAINER_RUNNING,
  CRI_SANDBOX_NOTREADY,
  CRI_SANDBOX_READY,
  ENTRY_FIELD_ID,
  ERROR_MEMORY,
  ERROR_ORDER,
  ERROR_TOO_MANY,
  ERROR_TRUNCATED,
  FROM_SHIFT,
  KIND_CONTAINER,
  KIND_SANDBOX,
  LISTED_STATES,
  LIST_FIELD_ENTRY,
  MAX_ENTRIES,
  RECORD_BYTES,
  RECORD_HEAD,
  RECORD_ID,
  RECORD_ID_LENGTH,
  RECORD_LENGTH,
  RECORD_OFFSET,
  SANDBOX_FIELD_STATE,
  STATE_CREATED,
  STATE_EXITED,
  STATE_NONE,
  STATE_RUNNING,
  STATE_UNKNOWN,
  TO_SHIFT,
} from './layout';
import { align, regionStart, reserve } from './memory';
import {
  Table,
  generationOf,
  hashId,
  hashOf,
  idLengthOf,
  kindOf,
  setGeneration,
  setState,
  stateOf,
  tableBytes,
} from './table';
import {
  WIRE_BYTES,
  WIRE_VARINT,
  failed,
  positionOf,
  readLength,
  readTag,
  readVarint,
  skip,
  valueOf,
} from './wire';

const PARSED_BYTES: usize = 28;
const PARSED_LENGTH: usize = 4;
const PARSED_ID: usize = 8;
const PARSED_ID_LENGTH: usize = 12;
const PARSED_META: usize = 16;
const PARSED_HASH: usize = 20;
const PARSED_KNOWN: usize = 24;
const ID_TAG: u32 = (ENTRY_FIELD_ID << 3) | WIRE_BYTES;

const COUNTERS: usize = memory.data(COUNTER_WORDS * 4, 4);
const table = changetype<Table>(memory.data(offsetof<Table>(), 4));
const next = changetype<Table>(memory.data(offsetof<Table>(), 4));

let seed: u64 = 0;
let generation: u32 = 0;
/** What the last `prepare` made room for; -1 when its scan is done. */
let prepared: i64 = -1;
let containers: usize = 0;
let sandboxes: usize = 0;
let parsed: usize = 0;
let parsedEnd: usize = 0;
let parsedLimit: usize = 0;
let idBytes: u64 = 0;
let records: usize = 0;
let recordCount: u32 = 0;

/** Forgets every object. The seed spreads ids over the table. */
export function reset(seedLow: u32, seedHigh: u32): void {
  seed = ((<u64>seedHigh) << 32) | (<u64>seedLow);
  prepared = -1;
  memory.fill(COUNTERS, 0, COUNTER_WORDS * 4);
  table.base = 0;
}

/** Address of the control block. */
export function counters(): usize {
  return COUNTERS;
}

/** Address of the records of the last good scan. */
export function recordsAt(): usize {
  return records;
}

/** Where the memory behind the table begins, for work that ends before the next relist. */
export function scratchAt(): usize {
  prepared = -1;
  return align(table.base === 0 ? regionStart() : table.end());
}

/**
 * Makes room for `total` bytes of lists and says where they go, containers first and the sandboxes
 * right behind them; or an error code. Memory may grow here and in `scan`. Ends the life of the records.
 */
export function prepare(total: u32): i32 {
  prepared = -1;
  const start = regionStart();
  if (table.base === 0) {
    if (!reserve(<u64>start + tableBytes(0, 0))) return ERROR_MEMORY;
    table.reset(start, 0);
  } else if (table.base !== start) table.moveTo(start);
  containers = align(table.end());
  if (!reserve(<u64>containers + <u64>total)) return ERROR_MEMORY;
  prepared = <i64>total;
  return <i32>containers;
}

/** Compares the two lists with the table: the number of records, or an error code. */
export function scan(containersLength: u32, sandboxesLength: u32): i32 {
  const expected = prepared;
  prepared = -1;
  if (<i64>containersLength + <i64>sandboxesLength !== expected) return ERROR_ORDER;
  sandboxes = containers + containersLength;
  const end = sandboxes + sandboxesLength;
  parsed = align(end);
  parsedEnd = parsed;
  parsedLimit = parsed;
  idBytes = 0;
  let error = parseList(KIND_CONTAINER, CONTAINER_FIELD_STATE, containers, sandboxes);
  if (error !== 0) return error;
  error = parseList(KIND_SANDBOX, SANDBOX_FIELD_STATE, sandboxes, end);
  return error !== 0 ? error : commit();
}

function parseList(kind: u32, stateField: u32, start: usize, end: usize): i32 {
  let position = start;
  while (position < end) {
    const read = readTag(position, end);
    if (failed(read)) return valueOf(read);
    const tag = valueOf(read);
    position = positionOf(read);
    if (tag !== ((LIST_FIELD_ENTRY << 3) | WIRE_BYTES)) {
      const skipped = skip(tag, position, end);
      if (failed(skipped)) return valueOf(skipped);
      position = positionOf(skipped);
      continue;
    }
    const length = readLength(position, end);
    if (failed(length)) return valueOf(length);
    position = positionOf(length);
    const error = parseEntry(kind, stateField, position, position + valueOf(length));
    if (error !== 0) return error;
    position += valueOf(length);
  }
  return 0;
}

/**
 * Appends one parsed entry. The last of a repeated field wins, an absent one is empty or 0, one of
 * another wire type is unknown. Most fields are maps and strings with a one-byte tag and length, which
 * are stepped over here; `parseField` takes the rest.
 */
function parseEntry(kind: u32, stateField: u32, start: usize, end: usize): i32 {
  const room = makeRoom();
  if (room !== 0) return room;
  store<u32>(parsedEnd, <u32>start);
  store<u32>(parsedEnd, <u32>(end - start), PARSED_LENGTH);
  store<u32>(parsedEnd, <u32>start, PARSED_ID);
  store<u32>(parsedEnd, 0, PARSED_ID_LENGTH);
  store<u32>(parsedEnd, kind | (listedState(kind, 0) << 8), PARSED_META);
  let position = start;
  while (position + 1 < end) {
    const tag = <u32>load<u8>(position);
    const length = <u32>load<u8>(position, 1);
    if ((tag & 0x87) === WIRE_BYTES && tag > 7 && length < 0x80) {
      position += 2;
      if (<usize>length > end - position) return ERROR_TRUNCATED;
      if (tag === ID_TAG) storeId(position, length);
      position += length;
      continue;
    }
    const read = parseField(kind, stateField, position, end);
    if (failed(read)) return valueOf(read);
    position = positionOf(read);
  }
  if (position < end) return valueOf(parseField(kind, stateField, position, end));
  lookUp(kind);
  return 0;
}

/** Any field at all; the position behind it. */
function parseField(kind: u32, stateField: u32, start: usize, end: usize): u64 {
  const read = readTag(start, end);
  if (failed(read)) return read;
  const tag = valueOf(read);
  const position = positionOf(read);
  if (tag === ID_TAG) {
    const length = readLength(position, end);
    if (!failed(length)) storeId(positionOf(length), valueOf(length));
  } else if (tag === ((stateField << 3) | WIRE_VARINT)) {
    const state = readVarint(position, end);
    if (failed(state)) return state;
    store<u32>(parsedEnd, kind | (listedState(kind, valueOf(state)) << 8), PARSED_META);
  }
  return skip(tag, position, end);
}

function storeId(id: usize, length: u32): void {
  store<u32>(parsedEnd, <u32>id, PARSED_ID);
  store<u32>(parsedEnd, length, PARSED_ID_LENGTH);
}

/** Completes a parsed entry while its id is still in the processor's cache. */
function lookUp(kind: u32): void {
  const id = <usize>load<u32>(parsedEnd, PARSED_ID);
  const length = load<u32>(parsedEnd, PARSED_ID_LENGTH);
  const hash = hashId(seed, kind, id, length);
  store<u32>(parsedEnd, hash, PARSED_HASH);
  store<u32>(parsedEnd, <u32>table.find(hash, kind, id, length), PARSED_KNOWN);
  parsedEnd += PARSED_BYTES;
  idBytes += length;
}

function makeRoom(): i32 {
  if (parsedEnd + PARSED_BYTES <= parsedLimit) return 0;
  const count = <i32>((parsedEnd - parsed) / PARSED_BYTES);
  if (count >= MAX_ENTRIES) return ERROR_TOO_MANY;
  const limit = parsedEnd + 1024 * PARSED_BYTES;
  if (!reserve(limit)) return ERROR_MEMORY;
  parsedLimit = limit;
  return 0;
}

function listedState(kind: u32, value: u32): u32 {
  if (kind === KIND_SANDBOX) {
    if (value === CRI_SANDBOX_READY) return STATE_RUNNING;
    return value === CRI_SANDBOX_NOTREADY ? STATE_EXITED : STATE_UNKNOWN;
  }
  if (value === CRI_CONTAINER_RUNNING) return STATE_RUNNING;
  if (value === CRI_CONTAINER_EXITED) return STATE_EXITED;
  return value === CRI_CONTAINER_CREATED ? STATE_CREATED : STATE_UNKNOWN;
}

function recordedState(listed: u32): u32 {
  return listed === STATE_CREATED ? STATE_UNKNOWN : listed;
}

/** Reserves for the worst case first; from there on nothing can fail. */
function commit(): i32 {
  const count = <u32>((parsedEnd - parsed) / PARSED_BYTES);
  records = align(parsedEnd);
  const nextBase = <u64>records + (<u64>count + <u64>table.count) * RECORD_BYTES + 8;
  if (!reserve(nextBase + tableBytes(count, idBytes))) return ERROR_MEMORY;
  memory.fill(COUNTERS, 0, COUNTER_WORDS * 4);
  recordCount = 0;
  generation++;
  const matched = match();
  if (matched.fresh !== 0 || matched.seen !== table.count) {
    rebuild(align(<usize>nextBase - 8), matched.seen + matched.fresh);
  }
  return recordCount;
}

@unmanaged
class Matched {
  seen: u32;
  fresh: u32;
}
const matchedSlot = changetype<Matched>(memory.data(offsetof<Matched>(), 4));

/** Marks what is known and still there, records changed states, flags what the table does not know. */
function match(): Matched {
  let seen: u32 = 0;
  let fresh: u32 = 0;
  for (let at = parsed; at < parsedEnd; at += PARSED_BYTES) {
    const known = <usize>load<u32>(at, PARSED_KNOWN);
    if (known === 0) {
      fresh++;
      continue;
    }
    if (generationOf(known) === generation) continue;
    const meta = load<u32>(at, PARSED_META);
    const kind = meta & 0xff;
    const listed = meta >> 8;
    setGeneration(known, generation);
    seen++;
    count(kind, listed);
    const to = recordedState(listed);
    const from = stateOf(known);
    if (from === to) continue;
    setState(known, to);
    recordEntry(at, kind, from, to);
  }
  matchedSlot.seen = seen;
  matchedSlot.fresh = fresh;
  return matchedSlot;
}

/** The survivors in their old order, then what is new; records of what came and what went. */
function rebuild(base: usize, capacity: u32): void {
  next.reset(base, capacity);
  for (let i: u32 = 0; i < table.count; i++) {
    const entry = table.entry(i);
    if (generationOf(entry) !== generation) continue;
    const id = table.idOf(entry);
    next.insert(hashOf(entry), kindOf(entry), stateOf(entry), generation, id, idLengthOf(entry));
  }
  for (let at = parsed; at < parsedEnd; at += PARSED_BYTES) {
    if (load<u32>(at, PARSED_KNOWN) === 0) appear(at);
  }
  for (let i: u32 = 0; i < table.count; i++) {
    const entry = table.entry(i);
    if (generationOf(entry) !== generation) vanish(entry);
  }
  memory.copy(changetype<usize>(table), changetype<usize>(next), offsetof<Table>());
}

function appear(at: usize): void {
  const meta = load<u32>(at, PARSED_META);
  const kind = meta & 0xff;
  const listed = meta >> 8;
  const id = <usize>load<u32>(at, PARSED_ID);
  const idLength = load<u32>(at, PARSED_ID_LENGTH);
  const hash = load<u32>(at, PARSED_HASH);
  if (next.find(hash, kind, id, idLength) !== 0) return;
  next.insert(hash, kind, recordedState(listed), generation, id, idLength);
  count(kind, listed);
  recordEntry(at, kind, STATE_NONE, recordedState(listed));
}

function vanish(entry: usize): void {
  const id = <u32>table.idOf(entry);
  record(kindOf(entry), stateOf(entry), STATE_NONE, 0, 0, id, idLengthOf(entry));
}

function recordEntry(at: usize, kind: u32, from: u32, to: u32): void {
  const list = kind === KIND_CONTAINER ? containers : sandboxes;
  const offset = load<u32>(at) - <u32>list;
  const length = load<u32>(at, PARSED_LENGTH);
  record(kind, from, to, offset, length, load<u32>(at, PARSED_ID), load<u32>(at, PARSED_ID_LENGTH));
}

// prettier-ignore
function record(kind: u32, from: u32, to: u32, offset: u32, length: u32, id: u32, idLength: u32): void {
  const at = records + <usize>recordCount * RECORD_BYTES;
  recordCount++;
  store<u32>(at, kind | (from << FROM_SHIFT) | (to << TO_SHIFT), RECORD_HEAD);
  store<u32>(at, offset, RECORD_OFFSET);
  store<u32>(at, length, RECORD_LENGTH);
  store<u32>(at, id, RECORD_ID);
  store<u32>(at, idLength, RECORD_ID_LENGTH);
}

function count(kind: u32, listed: u32): void {
  const at = COUNTERS + <usize>(kind * LISTED_STATES + listed) * 4;
  store<u32>(at, load<u32>(at) + 1);
}
