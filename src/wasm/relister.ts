/**
 * Owns: one relist over raw answers: copies them into the core, runs the scan, turns event records into
 * changes. The only file that holds pointers into linear memory.
 * Invariants: one core instance per Relister; views are made anew when memory has grown; no pointer
 * and no view of linear memory leaves this file; a relist without a change allocates nothing.
 * Leaves to others: decoding the entries that changed (src/cri), what a change means (src/pleg).
 */
import * as layout from '../../assembly/layout.ts';
import { IsletError } from '../util/errors.ts';
import type { Core } from './core.ts';

export type ObjectKind = 'container' | 'sandbox';

/** Spec pleg.md §2. CONTAINER_CREATED and whatever the runtime invents are `unknown`. */
export type ObjectState = 'running' | 'exited' | 'unknown' | 'non-existent';

/** What a list says, finer than ObjectState: the gauges tell created from unknown. */
export type ListedState = 'running' | 'exited' | 'unknown' | 'created';

export interface Change {
  readonly kind: ObjectKind;
  /** The bytes of the id, one character each; ids are ASCII in practice. Unique within its kind. */
  readonly id: string;
  readonly from: ObjectState;
  readonly to: ObjectState;
  /**
   * The encoded runtime.v1.Container or PodSandbox, a view into the list given to `relist`;
   * undefined when the object vanished.
   */
  readonly entry: Uint8Array | undefined;
}

export type ListError =
  | 'memory'
  | 'too-many'
  | 'truncated'
  | 'varint'
  | 'tag'
  | 'wire-type'
  | 'group'
  | 'depth'
  | 'order';

const ERRORS: Record<number, ListError> = {
  [layout.ERROR_MEMORY]: 'memory',
  [layout.ERROR_TOO_MANY]: 'too-many',
  [layout.ERROR_TRUNCATED]: 'truncated',
  [layout.ERROR_VARINT]: 'varint',
  [layout.ERROR_TAG]: 'tag',
  [layout.ERROR_WIRE_TYPE]: 'wire-type',
  [layout.ERROR_GROUP]: 'group',
  [layout.ERROR_DEPTH]: 'depth',
  [layout.ERROR_ORDER]: 'order',
};

/** A list that cannot be read, or that does not fit. Nothing has changed. */
export class ListUnreadable extends IsletError {
  readonly reason: ListError;

  constructor(reason: ListError) {
    super('corrupt', `relist: cannot read the lists of the runtime: ${reason}`);
    this.name = 'ListUnreadable';
    this.reason = reason;
  }
}

const STATES: readonly ObjectState[] = byState();
const LISTED: Record<ListedState, number> = {
  running: layout.STATE_RUNNING,
  exited: layout.STATE_EXITED,
  unknown: layout.STATE_UNKNOWN,
  created: layout.STATE_CREATED,
};
const KINDS: Record<ObjectKind, number> = {
  container: layout.KIND_CONTAINER,
  sandbox: layout.KIND_SANDBOX,
};
const NO_CHANGES: readonly Change[] = Object.freeze([]);

/** What a Relister needs besides its core: where the two halves of the table's seed come from. */
export interface RelisterDeps {
  readonly core: Core;
  /** In [0, 1). */
  readonly random: () => number;
}

export class Relister {
  readonly #core: Core;
  readonly #counters: number;
  #bytes: Uint8Array;
  #words: DataView;
  #busy = false;

  constructor(deps: RelisterDeps) {
    this.#core = deps.core;
    this.#core.reset(word(deps.random()), word(deps.random()));
    this.#counters = this.#core.counters();
    this.#bytes = new Uint8Array(this.#core.memory.buffer);
    this.#words = new DataView(this.#core.memory.buffer);
  }

  /**
   * What is different from the previous good relist: encoded ListContainersResponse and
   * ListPodSandboxResponse in, changes out (changed ones first, then new ones, then vanished ones).
   * Throws ListUnreadable; the next relist then compares with the last good one.
   */
  relist(containers: Uint8Array, sandboxes: Uint8Array): readonly Change[] {
    if (this.#busy) throw new Error('a Relister runs one relist at a time');
    this.#busy = true;
    try {
      const count = this.#scan(containers, sandboxes);
      return count === 0 ? NO_CHANGES : this.#changes(count, containers, sandboxes);
    } finally {
      this.#busy = false;
    }
  }

  /** How many objects of a kind the last good relist saw in a state. */
  count(kind: ObjectKind, state: ListedState): number {
    this.#renewViews();
    const index = KINDS[kind] * layout.LISTED_STATES + LISTED[state];
    return this.#words.getUint32(this.#counters + index * 4, true);
  }

  #scan(containers: Uint8Array, sandboxes: Uint8Array): number {
    const total = containers.length + sandboxes.length;
    if (total > layout.MAX_LIST_BYTES) throw new ListUnreadable('memory');
    const at = this.#core.prepare(total);
    if (at < 0) throw new ListUnreadable(reasonOf(at));
    this.#renewViews();
    this.#bytes.set(containers, at);
    this.#bytes.set(sandboxes, at + containers.length);
    const count = this.#core.scan(containers.length, sandboxes.length);
    if (count < 0) throw new ListUnreadable(reasonOf(count));
    this.#renewViews();
    return count;
  }

  /** Growing memory detaches the buffer that the views were made on. */
  #renewViews(): void {
    const { buffer } = this.#core.memory;
    if (this.#bytes.buffer === buffer) return;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new DataView(buffer);
  }

  #changes(count: number, containers: Uint8Array, sandboxes: Uint8Array): Change[] {
    const first = this.#core.recordsAt();
    const changes: Change[] = [];
    for (let i = 0; i < count; i++) {
      changes.push(this.#change(first + i * layout.RECORD_BYTES, containers, sandboxes));
    }
    return changes;
  }

  #change(at: number, containers: Uint8Array, sandboxes: Uint8Array): Change {
    const head = this.#words.getUint32(at + layout.RECORD_HEAD, true);
    const isContainer = (head & 0xff) === layout.KIND_CONTAINER;
    const to = stateAt((head >> layout.TO_SHIFT) & 0xff);
    const offset = this.#words.getUint32(at + layout.RECORD_OFFSET, true);
    const length = this.#words.getUint32(at + layout.RECORD_LENGTH, true);
    const list = isContainer ? containers : sandboxes;
    return {
      kind: isContainer ? 'container' : 'sandbox',
      id: this.#id(at),
      from: stateAt((head >> layout.FROM_SHIFT) & 0xff),
      to,
      entry: to === 'non-existent' ? undefined : list.subarray(offset, offset + length),
    };
  }

  #id(at: number): string {
    const start = this.#words.getUint32(at + layout.RECORD_ID, true);
    const length = this.#words.getUint32(at + layout.RECORD_ID_LENGTH, true);
    return Buffer.from(this.#bytes.buffer, start, length).toString('latin1');
  }
}

function reasonOf(code: number): ListError {
  const reason = ERRORS[code];
  if (reason === undefined) throw new Error(`the core returned ${code}`);
  return reason;
}

function stateAt(index: number): ObjectState {
  const state = STATES[index];
  if (state === undefined) throw new Error(`the core recorded state ${index}`);
  return state;
}

function byState(): ObjectState[] {
  const states: ObjectState[] = [];
  states[layout.STATE_NONE] = 'non-existent';
  states[layout.STATE_RUNNING] = 'running';
  states[layout.STATE_EXITED] = 'exited';
  states[layout.STATE_UNKNOWN] = 'unknown';
  return states;
}

function word(random: number): number {
  return Math.floor(random * 2 ** 32) | 0;
}
