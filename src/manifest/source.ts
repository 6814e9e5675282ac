/**
 * Owns: the desired pods of this node as the manifest directory (or one manifest file) has them.
 * Invariants: level-driven: every look lists the whole directory, events only bring it forward; the set
 * handed out is always full; a pod leaves it only when its file is deleted or validly changed
 * (design.md, promise 2). A directory that is missing, unreadable or hidden by a mount says nothing
 * about its files: all pods stay and the trouble is reported. A directory that is there and empty says
 * that all files were deleted.
 * Unlike the kubelet: a broken file, a missing directory or a duplicate never removes a pod (spec:
 * static-pods.md §2), and a file in the course of being written is waited for.
 * Leaves to others: reading (reader.ts), decoding (load.ts), who wins (claims.ts), verdicts (verdict.ts).
 */
import { basename } from 'node:path';
import type { EventRecorder } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { Wakeup } from '../util/wakeup.ts';
import { announce } from './announce.ts';
import type { ConfigObjectKey, ConfigObjects } from '../api/config-object.ts';
import { type Load, claimKeys } from './candidate.ts';
import { refusedClaims } from './claims.ts';
import { type Holding, judge } from './judge.ts';
import { LastGood, type ManifestStore } from './last-good.ts';
import { type Entry, type Listing, listManifests } from './listing.ts';
import { ObjectBook } from './object-book.ts';
import { ManifestReader, type Reading, type WriterProbe } from './reader.ts';
import type { DigestOf } from './snapshot.ts';
import { type FileVerdict, type Judgement, VerdictBook } from './verdict.ts';
import { DirectoryWatch } from './watch.ts';
import { findWriters, stillWriting } from './writer.ts';

export interface DesiredPod {
  readonly pod: Pod;
  /** Absolute path of the manifest. */
  readonly file: string;
  /** Rank by file name, then by place in the file. */
  readonly order: number;
  readonly warnings: readonly string[];
}

export interface FileSourceDeps {
  /** Absolute path of the manifest directory or of a single manifest file. */
  readonly path: string;
  readonly fileCheckFrequencyMs: number;
  readonly nodeName: string;
  readonly load: Load;
  readonly store: ManifestStore;
  /** Names the content of files. Keyed, so that a stored digest is no way to guess what a Secret holds. */
  readonly digestOf: DigestOf;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told why a pod does not follow its file. */
  readonly events?: EventRecorder;
  /** Default: what /proc tells. */
  readonly writers?: WriterProbe;
}

export type SourceListener = (pods: readonly DesiredPod[]) => void;
/** Told which ConfigMaps and Secrets are new, changed or gone. */
export type ObjectListener = (changed: readonly ConfigObjectKey[]) => void;

/** An editor that renames the old file away and writes a new one leaves a gap of no file. */
const DELETION_GRACE_MS = 250;
/** A directory that is not there: one `stat` a second finds it soon enough. */
const MISSING_RETRY_MS = 1_000;
const LEAST_GAP_MS = 10;

export class FileSource {
  readonly #deps: FileSourceDeps;
  readonly #lastGood: LastGood;
  readonly #reader: ManifestReader;
  readonly #book: VerdictBook;
  readonly #watch: DirectoryWatch;
  readonly #wakeup = new Wakeup();
  readonly #listeners = new Set<SourceListener>();
  readonly #objectListeners = new Set<ObjectListener>();
  readonly #objects = new ObjectBook();
  /** Every file that provides pods, is in the directory, or was there a moment ago. */
  readonly #holdings = new Map<string, Holding>();
  /** Digests that an earlier run left; undefined once they are taken over. */
  #stored: Map<string, string> | undefined;
  #desired: readonly DesiredPod[] = [];
  #trouble: string | undefined;
  #single = false;
  /** Device of the directory when manifests were last seen in it. */
  #device: bigint | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: FileSourceDeps) {
    const { clock, logger, load, nodeName, digestOf } = deps;
    this.#deps = deps;
    this.#lastGood = new LastGood(deps);
    this.#book = new VerdictBook({ clock, logger });
    this.#watch = new DirectoryWatch({ clock, logger, onHint: () => this.#wakeup.poke() });
    this.#reader = new ManifestReader({
      ...{ clock, load, nodeName, digestOf },
      writers: deps.writers ?? { find: findWriters, stillWriting },
      isTaken: (file, digest) => this.#digestOf(file) === digest,
    });
  }

  /** The full set, in order. */
  current(): readonly DesiredPod[] {
    return this.#desired;
  }

  /** The ConfigMaps and Secrets of accepted files, as they are now. */
  get configs(): ConfigObjects {
    return this.#objects;
  }

  /** One for each entry of the directory, and for files that are gone but whose pods stay. */
  verdicts(): FileVerdict[] {
    return this.#book.all();
  }

  /** Why the directory cannot be listed; undefined when it can. */
  trouble(): string | undefined {
    return this.#trouble;
  }

  /** Called with the full set whenever it changed; returns how to end that. */
  subscribe(listener: SourceListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Called after `configs` changed, and after the pods of the same look were told. */
  subscribeObjects(listener: ObjectListener): () => void {
    this.#objectListeners.add(listener);
    return () => void this.#objectListeners.delete(listener);
  }

  /** Resolves when the first full list was delivered, even an empty one; goes on until the abort. */
  async start(signal: AbortSignal): Promise<void> {
    this.#stored = this.#lastGood.stored();
    signal.addEventListener('abort', () => this.#watch.close(), { once: true });
    await this.#look();
    this.#loop = this.#run(signal);
  }

  /** Resolves when the source has ended after the abort. */
  stopped(): Promise<void> {
    return this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    try {
      while (!signal.aborted) {
        await this.#wakeup.wait(clock, this.#nextLookMs(), signal);
        const begin = clock.monotonic();
        await this.#look().catch((error: unknown) => {
          logger.error('looking at the manifests failed', { err: error });
        });
        // A storm of events may use a third of a core, not all of it.
        await clock.sleep(Math.max(LEAST_GAP_MS, 2 * (clock.monotonic() - begin)), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#watch.close();
    }
  }

  #nextLookMs(): number {
    const now = this.#deps.clock.monotonic();
    let next = Math.min(this.#deps.fileCheckFrequencyMs, this.#reader.retryMs);
    // Nothing is deleted while nothing is known.
    if (this.#trouble !== undefined) return Math.min(next, MISSING_RETRY_MS);
    for (const { leavingSince } of this.#holdings.values()) {
      if (leavingSince === undefined) continue;
      next = Math.min(next, leavingSince + DELETION_GRACE_MS - now);
    }
    return Math.max(0, next);
  }

  async #look(): Promise<void> {
    const { path } = this.#deps;
    this.#single ||= this.#stored?.has(path) === true;
    const listing = this.#doubt(await listManifests(path, this.#single));
    if (listing.kind === 'missing') {
      this.#reportTrouble(listing.reason);
      this.#keepAll(listing.reason);
      return;
    }
    this.#reportTrouble(undefined);
    this.#single = listing.watch !== path;
    const { watch, dev, ino, entries } = listing;
    this.#watch.point({ path: watch, dev, ino, only: this.#single ? basename(path) : undefined });
    const files = entries.filter((entry) => entry.kind !== 'ignored');
    const readings = await this.#reader.refresh(files);
    this.#settle(readings);
    this.#publish(entries, readings);
  }

  /**
   * Files that are missing from a directory on another device were not deleted: a mount went away or
   * hides them.
   */
  #doubt(listing: Listing): Listing {
    if (listing.kind === 'missing') return listing;
    const files = listing.entries.filter((entry) => entry.kind !== 'ignored');
    const present = new Set(files.map((entry) => entry.file));
    const hidden = [...this.#holdings.values()].some(
      ({ held, file }) => held && !present.has(file),
    );
    if (this.#device !== undefined && this.#device !== listing.dev && hidden) {
      const reason =
        `${listing.watch} is on another device than its manifests were, and some are not there;` +
        ' if that is meant, start islet again';
      return { kind: 'missing', reason };
    }
    if (files.length > 0) this.#device = listing.dev;
    return listing;
  }

  #reportTrouble(reason: string | undefined): void {
    const { logger, path } = this.#deps;
    if (reason === this.#trouble) return;
    this.#trouble = reason;
    if (reason === undefined) logger.info('the manifests can be listed again', { path });
    else logger.warn('the manifests cannot be listed; all pods stay', { path, why: reason });
  }

  #keepAll(reason: string): void {
    for (const file of this.#stored?.keys() ?? []) {
      if (this.#isOurs(file)) this.#restore(file);
      else this.#lastGood.forget(file);
    }
    this.#stored = undefined;
    const objects = this.#objects.replace(this.#holdings.values());
    const judgements = [...this.#holdings.values()].map((holding) =>
      judge(holding, { candidate: undefined, trouble: { state: 'unreadable', reason } }, undefined),
    );
    this.#judged(judgements);
    this.#deliver(objects.changed);
  }

  #isOurs(file: string): boolean {
    const { path } = this.#deps;
    return file === path || file.startsWith(path.endsWith('/') ? path : `${path}/`);
  }

  /** Brings the holdings up to what was read: who is there, who leaves, who provides what. */
  #settle(readings: ReadonlyMap<string, Reading>): void {
    const now = this.#deps.clock.monotonic();
    this.#takeOverStored(readings);
    for (const file of readings.keys()) {
      const holding = this.#holdings.get(file) ?? { file, held: undefined };
      this.#holdings.set(file, { ...holding, leavingSince: undefined });
    }
    for (const [file, holding] of this.#holdings) {
      if (readings.has(file)) continue;
      const since = holding.leavingSince ?? now;
      if (holding.held && now - since < DELETION_GRACE_MS) {
        this.#holdings.set(file, { ...holding, leavingSince: since });
      } else {
        this.#holdings.delete(file);
        this.#lastGood.forget(file);
      }
    }
    this.#sortHoldings();
  }

  /** The first list of this run: what an earlier run took counts as held before anything is new. */
  #takeOverStored(readings: ReadonlyMap<string, Reading>): void {
    const stored = this.#stored;
    if (!stored) return;
    this.#stored = undefined;
    for (const [file, digest] of stored) {
      const candidate = readings.get(file)?.candidate;
      if (!readings.has(file)) {
        this.#lastGood.forget(file); // deleted while no agent ran
      } else if (candidate?.kind === 'valid' && candidate.digest === digest) {
        const held = this.#lastGood.take(file, candidate, undefined);
        this.#holdings.set(file, { file, held });
      } else {
        this.#restore(file);
      }
    }
  }

  #restore(file: string): void {
    const held = this.#lastGood.restore(file);
    if (held) this.#holdings.set(file, { file, held });
  }

  /** Takes what may be taken, then tells about it. */
  #publish(entries: readonly Entry[], readings: ReadonlyMap<string, Reading>): void {
    const refused = refusedClaims(
      [...this.#holdings.values()].map(({ file, held }) => {
        const candidate = readings.get(file)?.candidate;
        const wanted = candidate?.kind === 'valid' ? claimKeys(candidate) : undefined;
        return { file, held: held ? claimKeys(held) : [], wanted };
      }),
    );
    for (const [file, holding] of this.#holdings) {
      const candidate = readings.get(file)?.candidate;
      if (candidate?.kind !== 'valid' || refused.has(file)) continue;
      const { held: before } = holding;
      if (candidate.digest === before?.digest && before.withheld.length === 0) {
        candidate.content = undefined; // it was put back to what is held
        continue;
      }
      const held = this.#lastGood.take(file, candidate, before);
      this.#holdings.set(file, { ...holding, held });
    }
    const objects = this.#objects.replace(this.#holdings.values());
    const judgements = new Map<string, Judgement>();
    for (const entry of entries) {
      const holding = this.#holdings.get(entry.file);
      const reading = readings.get(entry.file);
      if (entry.kind === 'ignored') judgements.set(entry.file, ignoredJudgement(entry));
      else if (holding && reading) {
        const conflict = refused.get(entry.file);
        const owner = conflict && this.#holdings.get(conflict.owner);
        const refusal = conflict && { ...conflict, owner };
        const notes = objects.notes.get(entry.file);
        judgements.set(entry.file, judge(holding, reading, refusal, notes));
      }
    }
    // A file that has just gone keeps its verdict until it is known to be deleted.
    for (const { file, leavingSince } of this.#holdings.values()) {
      const verdict = leavingSince === undefined ? undefined : this.#book.get(file);
      if (verdict) judgements.set(file, verdict);
    }
    this.#judged([...judgements.values()]);
    this.#deliver(objects.changed);
  }

  #judged(judgements: readonly Judgement[]): void {
    const { events } = this.#deps;
    for (const verdict of this.#book.replace(judgements)) {
      const pods = this.#holdings.get(verdict.file)?.held?.pods ?? [];
      if (events) announce(events, verdict, pods);
    }
  }

  #deliver(objects: readonly ConfigObjectKey[]): void {
    this.#deliverPods();
    if (objects.length > 0) this.#tell(this.#objectListeners, objects);
  }

  #deliverPods(): void {
    const desired: DesiredPod[] = [];
    for (const { file, held } of this.#holdings.values()) {
      for (const { pod, warnings } of held?.pods ?? []) {
        desired.push({ pod, file, order: desired.length, warnings });
      }
    }
    const before = new Set(this.#desired.map(({ pod }) => pod));
    const changed = before.size !== desired.length || desired.some(({ pod }) => !before.has(pod));
    this.#desired = desired;
    if (!changed) return;
    this.#lastGood.keepStamps(new Set(desired.map(({ pod }) => pod.metadata.uid)));
    this.#tell(this.#listeners, desired);
  }

  #tell<T>(listeners: ReadonlySet<(value: T) => void>, value: T): void {
    for (const listener of listeners) {
      try {
        listener(value);
      } catch (error) {
        this.#deps.logger.error('a listener of the manifests failed', { why: messageOf(error) });
      }
    }
  }

  #digestOf(file: string): string | undefined {
    return this.#holdings.get(file)?.held?.digest ?? this.#stored?.get(file);
  }

  #sortHoldings(): void {
    const sorted = [...this.#holdings].sort(([a], [b]) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    );
    this.#holdings.clear();
    for (const [file, holding] of sorted) this.#holdings.set(file, holding);
  }
}

function ignoredJudgement(entry: Extract<Entry, { reason: string }>): Judgement {
  const messages = [`${entry.file}: ${entry.reason}`];
  return {
    ...{ file: entry.file, state: 'ignored', messages, warnings: [], pods: [] },
    usingLastGood: false,
  };
}
