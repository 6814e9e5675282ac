/**
 * Owns: the newest content of each manifest file, read when the file changed and decoded when its bytes
 * changed.
 *
 *   changed ──► read in one piece ──► new bytes ──► nobody writes ──► decoded
 *                 │ changing               │ held open for writing
 *                 └──► look again soon     └──► waiting: look again soon; given up when nothing was
 *                                               written for GIVE_UP_MS, then decoded as it is
 *
 * Invariants: the same bytes are decoded once; a file that is being written keeps its last candidate.
 * Unlike the kubelet: a file that a process still holds open for writing is not acted on, because half
 * a manifest may be a valid pod.
 */
import type { Clock } from '../util/clock.ts';
import { type Candidate, type Load, toCandidate } from './candidate.ts';
import { type Entry, type Signature, sameSignature } from './listing.ts';
import {
  type DigestOf,
  MAX_MANIFEST_BYTES,
  type Snapshot,
  isUnchanged,
  readSnapshot,
} from './snapshot.ts';
import type { Writer, WriterQuery } from './writer.ts';

export interface WriterProbe {
  /** First writer of each file that has one, by `realPath`. */
  find(files: readonly WriterQuery[]): Promise<ReadonlyMap<string, Writer>>;
  stillWriting(writer: Writer): boolean;
}

export interface ReaderDeps {
  readonly clock: Clock;
  readonly load: Load;
  readonly nodeName: string;
  readonly writers: WriterProbe;
  readonly digestOf: DigestOf;
  /** Whether these bytes were taken before: then it does not matter who holds the file open. */
  readonly isTaken: (file: string, digest: string) => boolean;
}

export interface Reading {
  /** Newest content that was read whole; undefined: none so far. */
  readonly candidate: Candidate | undefined;
  /** Why there may be newer content than the candidate. */
  readonly trouble:
    { readonly state: 'unreadable' | 'waiting'; readonly reason: string } | undefined;
  /** Permission bits as of the last read; undefined: never read. */
  readonly mode?: number | undefined;
}

interface Waiting {
  readonly signature: Signature;
  /** Monotonic time since which the file has not changed. */
  readonly unchangedSince: number;
  readonly writer: Writer;
}

interface FileState {
  candidate: Candidate | undefined;
  trouble: Reading['trouble'];
  mode: number | undefined;
  /** As of the last read that came to an end; undefined: read again at the next look. */
  signature: Signature | undefined;
  waiting: Waiting | undefined;
  /** Looks in a row that came to no end. */
  attempts: number;
}

type Content = Extract<Snapshot, { kind: 'content' }>;

const GIVE_UP_MS = 30_000;
const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 150;
/** Time stamps are as coarse as the kernel's tick (10 ms at most): younger ones prove nothing. */
const SETTLE_MS = 50;
/** Some file systems keep whole seconds only. */
const COARSE_SETTLE_MS = 2_000;

export class ManifestReader {
  readonly #deps: ReaderDeps;
  #states = new Map<string, FileState>();

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** Milliseconds until a file that came to no end should be looked at again; Infinity: none. */
  get retryMs(): number {
    let least = Infinity;
    for (const state of this.#states.values()) {
      if (state.attempts === 0) continue;
      least = Math.min(least, FIRST_RETRY_MS * 2 ** (state.attempts - 1));
    }
    return least === Infinity ? least : Math.min(least, LAST_RETRY_MS);
  }

  /** One look at all manifest files that there are; the result is in the same order. */
  async refresh(entries: readonly Entry[]): Promise<Map<string, Reading>> {
    const states = new Map<string, FileState>();
    for (const { file } of entries) states.set(file, this.#states.get(file) ?? emptyState());
    this.#states = states;
    const unknown: { file: string; state: FileState; snapshot: Content }[] = [];
    // One after the other: manifests are small, and 10 MiB times any number of files is not.
    for (const entry of entries) {
      const state = states.get(entry.file) ?? emptyState();
      const snapshot = await this.#read(entry, state);
      if (snapshot) unknown.push({ file: entry.file, state, snapshot });
    }
    await this.#settle(unknown);
    return new Map(
      [...states].map(([file, { candidate, trouble, mode }]) => [
        file,
        { candidate, trouble, mode },
      ]),
    );
  }

  /** The content when it is new and not yet known to be whole. */
  async #read(entry: Entry, state: FileState): Promise<Content | undefined> {
    if (entry.kind !== 'manifest') {
      state.signature = undefined;
      endTrouble(state, { state: 'unreadable', reason: entry.reason });
      return undefined;
    }
    if (state.signature && sameSignature(state.signature, entry.signature)) return undefined;
    if (this.#stillWaiting(entry.signature, state)) return undefined;
    const snapshot = await readSnapshot(entry.file, this.#deps.digestOf);
    if (snapshot.kind === 'content') state.mode = snapshot.mode;
    switch (snapshot.kind) {
      case 'changing':
        state.attempts++;
        return undefined;
      case 'unreadable':
        endTrouble(state, { state: 'unreadable', reason: snapshot.reason });
        return undefined;
      case 'too-large':
        state.candidate = tooLarge(entry.file, snapshot.signature);
        this.#done(state, snapshot.signature);
        return undefined;
      case 'content':
        if (state.candidate?.digest === snapshot.digest) {
          this.#done(state, snapshot.signature);
          return undefined;
        }
        if (!this.#deps.isTaken(entry.file, snapshot.digest)) return snapshot;
        this.#decode(entry.file, state, snapshot);
        return undefined;
    }
  }

  #stillWaiting(signature: Signature, state: FileState): boolean {
    const { waiting } = state;
    if (!waiting || !this.#deps.writers.stillWriting(waiting.writer)) return false;
    if (!sameSignature(waiting.signature, signature)) {
      const unchangedSince = this.#deps.clock.monotonic();
      state.waiting = { signature, unchangedSince, writer: waiting.writer };
    } else if (this.#deps.clock.monotonic() - waiting.unchangedSince >= GIVE_UP_MS) {
      return false;
    }
    state.attempts++;
    return true;
  }

  async #settle(
    unknown: readonly { file: string; state: FileState; snapshot: Content }[],
  ): Promise<void> {
    const writers = await this.#deps.writers.find(
      unknown.map(({ snapshot }) => ({ ...snapshot.signature, realPath: snapshot.realPath })),
    );
    for (const { file, state, snapshot } of unknown) {
      const writer = writers.get(snapshot.realPath);
      if (writer && !this.#isGivenUp(state, snapshot.signature)) {
        this.#wait(file, state, snapshot.signature, writer);
      } else if (await isUnchanged(file, snapshot.signature)) {
        this.#decode(file, state, snapshot);
      } else {
        // A writer that came and went between the read and the look at the processes.
        state.attempts++;
      }
    }
  }

  #isGivenUp(state: FileState, signature: Signature): boolean {
    const { waiting } = state;
    if (!waiting || !sameSignature(waiting.signature, signature)) return false;
    return this.#deps.clock.monotonic() - waiting.unchangedSince >= GIVE_UP_MS;
  }

  #wait(file: string, state: FileState, signature: Signature, writer: Writer): void {
    const { waiting } = state;
    const same = waiting && sameSignature(waiting.signature, signature);
    const unchangedSince = same ? waiting.unchangedSince : this.#deps.clock.monotonic();
    state.waiting = { signature, unchangedSince, writer };
    state.trouble = {
      state: 'waiting',
      reason: `${file}: process ${writer.pid} still has it open for writing`,
    };
    state.attempts++;
  }

  #decode(file: string, state: FileState, snapshot: Content): void {
    const { load, nodeName } = this.#deps;
    const { digest, content } = snapshot;
    state.candidate = toCandidate(load, nodeName, { file, digest, content });
    this.#done(state, snapshot.signature);
  }

  #done(state: FileState, signature: Signature): void {
    const age = this.#deps.clock.wall() - Number(signature.mtimeNs / 1_000_000n);
    const coarse = signature.mtimeNs % 1_000_000_000n === 0n;
    state.signature = age >= (coarse ? COARSE_SETTLE_MS : SETTLE_MS) ? signature : undefined;
    endTrouble(state, undefined);
  }
}

function emptyState(): FileState {
  return {
    candidate: undefined,
    trouble: undefined,
    mode: undefined,
    signature: undefined,
    waiting: undefined,
    attempts: 0,
  };
}

function endTrouble(state: FileState, trouble: Reading['trouble']): void {
  state.trouble = trouble;
  state.waiting = undefined;
  state.attempts = 0;
}

function tooLarge(file: string, signature: Signature): Candidate {
  const message = `${file}: ${signature.size} bytes are more than the ${MAX_MANIFEST_BYTES} a manifest may have`;
  return { kind: 'invalid', digest: 'too large', messages: [message], warnings: [] };
}
