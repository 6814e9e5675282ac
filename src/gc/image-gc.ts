/**
 * Owns: removing images that nobody needs (spec: gc-logs-images.md §1): every five minutes when the file
 * system of the images is too full or images are too old, and under disk pressure when asked to.
 * Invariants: one pass at a time; a pass sees images, containers and manifests as they are then; while
 * it is not certain what the manifests name, only what can be had again is removed. What is left
 * of an image in memory and database goes with it.
 * Leaves to others: which images go (image-plan.ts), what they are to the node (image-facts.ts).
 */
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import { runtimeText } from '../cri/errors.ts';
import type { Container, Image, ImageService } from '../cri/model.ts';
import { fullImageName } from '../image/repository.ts';
import type { UseLedger } from '../image/use-ledger.ts';
import type { Counter } from '../metrics/counter.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { imagesInUse, mountedImages, namedImages, namesOf, ranksOf } from './image-facts.ts';
import type { FileSystem, ImageFact, PlanContext } from './image-plan.ts';
import { bytesToFree, enoughFor, expired, removable, usagePercent } from './image-plan.ts';

export interface ImageGcSettings {
  readonly highPercent: number;
  readonly lowPercent: number;
  readonly minAgeMs: number;
  /** 0: none is removed for its age. */
  readonly maxAgeMs: number;
}

export interface ImageGcDeps {
  readonly images: Pick<ImageService, 'listImages' | 'removeImage' | 'fsUsage'>;
  /** Every container of the runtime, whosever it is. */
  readonly containers: (signal: AbortSignal) => Promise<readonly Container[]>;
  /** Images that the runtime makes sandboxes of, by name. */
  readonly sandboxImages: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Pods of all manifests, with their status. */
  readonly pods: () => readonly Pod[];
  readonly hasEnded: (pod: Pod) => boolean;
  /** False while a manifest that was not taken may name any image. */
  readonly isCertain: () => boolean;
  readonly ledger: UseLedger;
  /** The file system that holds the path; undefined when it cannot be asked. */
  readonly fileSystem: (path: string) => Promise<FileSystem | undefined>;
  /** Told after a removal which images are left. */
  readonly onRemoved: (left: readonly Image[]) => Promise<void>;
  readonly settings: ImageGcSettings;
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `kubelet_image_garbage_collected_total` */
  readonly collected: Counter;
}

const PERIOD_MS = 300_000;
/** Names of sandbox images, for runtimes that do not say which is theirs. */
const PAUSE = /\/pause(-[a-z0-9]+)?[:@]/;

interface Seen {
  readonly facts: readonly ImageFact[];
  readonly context: PlanContext;
}

export class ImageGc {
  readonly #deps: ImageGcDeps;
  readonly #detectedAt = new Map<string, number>();
  readonly #sinceMs: number;
  #failures = 0;
  #busy: Promise<unknown> = Promise.resolve();

  constructor(deps: ImageGcDeps) {
    this.#deps = deps;
    this.#sinceMs = deps.clock.monotonic();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.collect(signal);
      await this.#deps.clock.sleep(PERIOD_MS, signal);
    }
  }

  /** A periodic pass; failures are events. */
  async collect(signal: AbortSignal): Promise<void> {
    try {
      await this.#alone(() => this.#collect(signal));
      this.#failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      this.#failures += 1;
      this.#deps.logger.warn('image garbage collection failed', { err: error });
      // A runtime that has just started may not know its file system yet.
      if (this.#failures > 1) this.#event(EventReason.ImageGCFailed, runtimeText(error));
    }
  }

  /**
   * Removes unused images under disk pressure; resolves to the bytes that were freed. What the manifests
   * name goes only while the file system stays too full without.
   */
  unusedImages(signal: AbortSignal): Promise<number> {
    return this.#alone(async () => {
      const seen = await this.#look(signal);
      const others = removable(seen.facts, 'others', seen.context);
      const freed = await this.#remove(others, Infinity, 'space', signal);
      const toFree = bytesToFree(await this.#fileSystem(signal), this.#thresholds());
      if (toFree === 0) return freed;
      const rest = removable(seen.facts, 'all', seen.context).filter((i) => !others.includes(i));
      return freed + (await this.#remove(rest, toFree, 'space', signal));
    });
  }

  #alone<T>(pass: () => Promise<T>): Promise<T> {
    const mine = this.#busy.then(pass);
    this.#busy = mine.catch(() => undefined);
    return mine;
  }

  #thresholds(): { high: number; low: number } {
    const { highPercent: high, lowPercent: low } = this.#deps.settings;
    return { high, low };
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const { settings } = this.#deps;
    const seen = await this.#look(signal);
    if (settings.highPercent === 100 && settings.maxAgeMs === 0) return;
    const context = { ...seen.context, sinceMs: this.#sinceMs };
    const old = expired(seen.facts, settings.maxAgeMs, context);
    await this.#remove(old, Infinity, 'age', signal);
    if (settings.highPercent === 100) return;
    const fileSystem = await this.#fileSystem(signal);
    const toFree = bytesToFree(fileSystem, this.#thresholds());
    if (toFree === 0) return;
    const candidates = removable(seen.facts, 'others', seen.context);
    const left = candidates.filter((image) => !old.includes(image));
    const freed = await this.#remove(left, toFree, 'space', signal);
    if (freed < toFree) this.#tellOfFailure(fileSystem, freed);
  }

  #tellOfFailure(fileSystem: FileSystem, freed: number): void {
    const used = `${usagePercent(fileSystem)}% of ${sizeText(fileSystem.capacity)} used`;
    const text =
      `Insufficient free disk space on the node's image filesystem (${used}). ` +
      `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
      'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.';
    this.#event(EventReason.FreeDiskSpaceFailed, text);
  }

  async #fileSystem(signal: AbortSignal): Promise<FileSystem> {
    const { images, fileSystem } = this.#deps;
    const [first] = (await images.fsUsage(signal)).images;
    if (!first) throw new IsletError('failed', 'the runtime names no file system of its images');
    const { mountpoint } = first;
    const found = await fileSystem(mountpoint);
    if (!found)
      throw new IsletError('failed', `the file system of ${mountpoint} cannot be measured`);
    if (found.capacity === 0) {
      const text = 'invalid capacity 0 on image filesystem';
      this.#event(EventReason.InvalidDiskCapacity, text);
      throw new IsletError('failed', text);
    }
    return found;
  }

  async #look(signal: AbortSignal): Promise<Seen> {
    const { clock, images, containers, sandboxImages, ledger, settings } = this.#deps;
    const nowMs = clock.monotonic();
    const known = ledger.images();
    // Images first: what a container is made of meanwhile is then seen with its container.
    const list = await images.listImages(signal);
    const used = await containers(signal);
    const pauses = new Set((await sandboxImages(signal)).map(fullImageName));
    const present = new Set(list.map(({ id }) => id));
    for (const id of known) if (!present.has(id)) ledger.forget(id);
    for (const id of this.#detectedAt.keys()) if (!present.has(id)) this.#detectedAt.delete(id);
    const facts = this.#facts(list, used, pauses, nowMs);
    for (const { id, inUse } of facts) if (inUse) ledger.seen(id);
    return { facts, context: { nowMs, minAgeMs: settings.minAgeMs } };
  }

  #facts(
    list: readonly Image[],
    containers: readonly Container[],
    pauses: ReadonlySet<string>,
    nowMs: number,
  ): ImageFact[] {
    const { pods, hasEnded, isCertain, ledger } = this.#deps;
    const all = pods();
    const named = namedImages(all);
    const mounted = mountedImages(all.filter((pod) => !hasEnded(pod)));
    const inUse = imagesInUse(list, containers, mounted);
    const ranks = ranksOf(list, named, (id) => ledger.use(id).stamp);
    const certain = isCertain();
    return list.map((image) => {
      const { id, size, pinned } = image;
      const names = namesOf(image);
      const detectedAt = this.#detectedAt.get(id) ?? nowMs;
      this.#detectedAt.set(id, detectedAt);
      const rank = ranks.get(id) ?? 'other';
      const canBeHadAgain =
        ledger.canBeHadAgain(id) && !names.some((name) => named.get(name)?.neverPulled);
      return {
        ...{ id, size, detectedAt, inUse: inUse.has(id), ...ledger.use(id) },
        pinned: pinned || names.some((name) => pauses.has(name) || PAUSE.test(name)),
        // One broken file must not fill the disk: only what would be lost for good is kept for it.
        rank: rank === 'other' && !certain && !canBeHadAgain ? 'named' : rank,
        canBeHadAgain,
      };
    });
  }

  /** Removes candidates until `bytes` are freed; one that cannot be removed is passed over. */
  async #remove(
    candidates: readonly ImageFact[],
    bytes: number,
    reason: 'age' | 'space',
    signal: AbortSignal,
  ): Promise<number> {
    const { images, ledger, logger, collected, onRemoved } = this.#deps;
    let left = candidates;
    let freed = 0;
    for (
      let [next] = enoughFor(left, bytes - freed);
      next;
      [next] = enoughFor(left, bytes - freed)
    ) {
      const { id, size } = next;
      left = left.filter((image) => image.id !== id);
      try {
        await images.removeImage(id, signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn('an image cannot be removed', { image: id, err: error });
        continue;
      }
      freed += size;
      ledger.forget(id);
      this.#detectedAt.delete(id);
      collected.inc({ reason });
      logger.info('removed an unused image', { image: id, size, reason });
    }
    if (freed > 0) await onRemoved(await images.listImages(signal));
    return freed;
  }

  #event(reason: string, text: string): void {
    const { events, nodeName } = this.#deps;
    events.event(nodeTarget(nodeName), 'Warning', reason, text);
  }
}

/** As `19.5 GiB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let amount = bytes;
  let unit = 0;
  for (; amount >= 1024 && unit < units.length - 1; unit++) amount /= 1024;
  return `${unit === 0 ? amount : amount.toFixed(1)} ${units[unit]}`;
}
