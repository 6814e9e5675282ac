/**
 * Owns: the plain TypeScript twin of the Wasm core: the same answers from the same bytes, written the
 * simple way (a Map, objects, exceptions), so that the two can be compared on anything. It shares no
 * code with the core, only names.
 */
import type {
  Change,
  ListError,
  ListedState,
  ObjectKind,
  ObjectState,
} from '../../src/wasm/relister.ts';

const LIMIT_ENTRIES = 1024 * 1024;
const LIMIT_GROUP_DEPTH = 64;

class Unreadable extends Error {
  readonly reason: ListError;

  constructor(reason: ListError) {
    super(reason);
    this.reason = reason;
  }
}

/** Reads one range of bytes; `end` is exclusive. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  position: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.#end = end;
    this.position = start;
  }

  get done(): boolean {
    return this.position >= this.#end;
  }

  varint(): bigint {
    let value = 0n;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      if (i === 9 && byte > 1) throw new Unreadable('varint');
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return value;
    }
    throw new Unreadable('varint');
  }

  tag(): { field: number; wireType: number } {
    let value = 0n;
    for (let i = 0; i < 5; i++) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte >= 0x80) continue;
      if (value >= 2n ** 32n || value >> 3n === 0n) throw new Unreadable('tag');
      return { field: Number(value >> 3n), wireType: Number(value & 7n) };
    }
    throw new Unreadable('tag');
  }

  /** Start and end of a length-delimited value; the position is behind it afterwards. */
  range(): { start: number; end: number } {
    const length = this.varint();
    if (length > BigInt(this.#end - this.position)) throw new Unreadable('truncated');
    const start = this.position;
    this.position += Number(length);
    return { start, end: this.position };
  }

  skip(field: number, wireType: number, depth = 1): void {
    switch (wireType) {
      case 0:
        this.varint();
        return;
      case 1:
        this.#fixed(8);
        return;
      case 2:
        this.range();
        return;
      case 3:
        this.#group(field, depth);
        return;
      case 4:
        throw new Unreadable('group');
      case 5:
        this.#fixed(4);
        return;
      default:
        throw new Unreadable('wire-type');
    }
  }

  #group(field: number, depth: number): void {
    if (depth > LIMIT_GROUP_DEPTH) throw new Unreadable('depth');
    for (;;) {
      const inner = this.tag();
      if (inner.wireType === 4) {
        if (inner.field !== field) throw new Unreadable('group');
        return;
      }
      this.skip(inner.field, inner.wireType, depth + 1);
    }
  }

  #fixed(size: number): void {
    if (size > this.#end - this.position) throw new Unreadable('truncated');
    this.position += size;
  }

  #byte(): number {
    const byte = this.done ? undefined : this.#bytes[this.position];
    if (byte === undefined) throw new Unreadable('truncated');
    this.position++;
    return byte;
  }
}

interface Parsed {
  readonly kind: ObjectKind;
  readonly id: string;
  readonly listed: ListedState;
  readonly entry: Uint8Array;
}

export type TwinResult = { changes: Change[] } | { error: ListError };

export class RelistTwin {
  #known = new Map<string, { kind: ObjectKind; id: string; state: ObjectState }>();
  #counts = new Map<string, number>();

  relist(containers: Uint8Array, sandboxes: Uint8Array): TwinResult {
    try {
      const parsed: Parsed[] = [];
      parseList('container', containers, parsed);
      parseList('sandbox', sandboxes, parsed);
      return { changes: this.#compare(parsed) };
    } catch (error) {
      if (error instanceof Unreadable) return { error: error.reason };
      throw error;
    }
  }

  count(kind: ObjectKind, state: ListedState): number {
    return this.#counts.get(`${kind} ${state}`) ?? 0;
  }

  #compare(parsed: readonly Parsed[]): Change[] {
    const listed = new Map<string, Parsed>();
    for (const item of parsed) {
      const key = `${item.kind} ${item.id}`;
      if (!listed.has(key)) listed.set(key, item);
    }
    const changed: Change[] = [];
    const appeared: Change[] = [];
    this.#counts = new Map();
    for (const [key, { kind, id, listed: state, entry }] of listed) {
      const count = `${kind} ${state}`;
      this.#counts.set(count, (this.#counts.get(count) ?? 0) + 1);
      const to = state === 'created' ? 'unknown' : state;
      const known = this.#known.get(key);
      if (!known) appeared.push({ kind, id, from: 'non-existent', to, entry });
      else if (known.state !== to) changed.push({ kind, id, from: known.state, to, entry });
      this.#known.set(key, { kind, id, state: to });
    }
    const vanished: Change[] = [];
    for (const [key, { kind, id, state }] of this.#known) {
      if (listed.has(key)) continue;
      vanished.push({ kind, id, from: state, to: 'non-existent', entry: undefined });
      this.#known.delete(key);
    }
    return [...changed, ...appeared, ...vanished];
  }
}

function parseList(kind: ObjectKind, bytes: Uint8Array, parsed: Parsed[]): void {
  const reader = new Reader(bytes, 0, bytes.length);
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    if (field !== 1 || wireType !== 2) {
      reader.skip(field, wireType);
      continue;
    }
    const { start, end } = reader.range();
    if (parsed.length >= LIMIT_ENTRIES) throw new Unreadable('too-many');
    parsed.push(parseEntry(kind, bytes, start, end));
  }
}

function parseEntry(kind: ObjectKind, bytes: Uint8Array, start: number, end: number): Parsed {
  const reader = new Reader(bytes, start, end);
  const stateField = kind === 'container' ? 6 : 3;
  let id = '';
  let state = 0;
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === 2) {
      const range = reader.range();
      id = Buffer.from(bytes.subarray(range.start, range.end)).toString('latin1');
    } else if (field === stateField && wireType === 0) {
      state = Number(BigInt.asUintN(32, reader.varint()));
    } else {
      reader.skip(field, wireType);
    }
  }
  return { kind, id, listed: listedState(kind, state), entry: bytes.subarray(start, end) };
}

function listedState(kind: ObjectKind, state: number): ListedState {
  const names: ListedState[] =
    kind === 'sandbox' ? ['running', 'exited'] : ['created', 'running', 'exited'];
  return names[state] ?? 'unknown';
}
