/**
 * Owns: the store as the agent sees it: the records, opened together and written together.
 * Invariant: it always opens. Without a usable disk it runs from memory and says so (design.md,
 * promises 1 and 2: losing the database loses history, never a pod).
 */
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import { EventJournal, type EventLimits } from './events.ts';
import { EvictionRecords } from './evictions.ts';
import { FirstSeen } from './first-seen.ts';
import { ImageAccessRecords } from './image-access.ts';
import { ImageSources } from './image-sources.ts';
import { ImageUse } from './images.ts';
import { LastGoodManifests } from './last-good.ts';
import { PodRecords } from './pods.ts';
import { RestartRecords } from './restarts.ts';
import { type StoreNotice, WriteBehind } from './write-behind.ts';

export interface StoreDeps {
  /** Absolute path of the database file; its folder is made. */
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: EventLimits;
  /** Told about trouble and its end after the opening; the logger hears of it too. */
  readonly notify?: (notice: StoreNotice) => void;
}

export interface Store {
  readonly lastGood: LastGoodManifests;
  readonly firstSeen: FirstSeen;
  readonly pods: PodRecords;
  readonly restarts: RestartRecords;
  readonly evictions: EvictionRecords;
  readonly events: EventJournal;
  readonly images: ImageUse;
  readonly imageAccess: ImageAccessRecords;
  readonly imageSources: ImageSources;
  /** Set when the opening found a damaged database and made a new one. */
  readonly recovered:
    { readonly reason: string; readonly setAside: string | undefined } | undefined;
  /** Why islet runs from memory at present; undefined while it writes to the disk. */
  readonly trouble: string | undefined;
  /** Writes what is pending, without waiting for the next retry; whether all is on disk. */
  flush(): boolean;
  /** Writes gathered changes when they fall due and retries after trouble, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Writes what is pending, checkpoints and closes. Later changes stay in memory. */
  close(): void;
}

export function openStore(deps: StoreDeps): Store {
  let recovered: Store['recovered'];
  let opening = true;
  const behind = new WriteBehind({
    ...deps,
    notify: (notice) => {
      if (!opening) deps.notify?.(notice);
      else if (notice.kind === 'recovered') recovered = notice;
    },
  });
  const store = {
    lastGood: new LastGoodManifests(behind),
    firstSeen: new FirstSeen(behind),
    pods: new PodRecords(behind),
    restarts: new RestartRecords(behind),
    evictions: new EvictionRecords(behind),
    events: new EventJournal({ store: behind, clock: deps.clock, limits: deps.limits }),
    images: new ImageUse(behind),
    imageAccess: new ImageAccessRecords(behind),
    imageSources: new ImageSources(behind),
  };
  behind.open();
  opening = false;
  return {
    ...store,
    recovered,
    get trouble() {
      return behind.trouble;
    },
    flush: () => behind.flush(true),
    run: (signal) => behind.run(signal),
    close: () => behind.close(),
  };
}
