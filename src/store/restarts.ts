/**
 * Owns: how often each container was restarted and how far its back-off has grown, so that an agent
 * restart neither forgets the count nor resets the crash-loop delay.
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

export interface RestartRecord {
  readonly count: number;
  /** Delay before the next restart, in milliseconds; 0: none yet. */
  readonly delayMs: number;
  /** Wall milliseconds of the last restart. */
  readonly lastRestartWallMs?: number | undefined;
  /** Wall milliseconds of the end of the newest run, where the runtime's record of it was removed. */
  readonly endedWallMs?: number | undefined;
}

/** A uid may hold any character, a container name no slash. */
const keyOf = (uid: string, container: string): string => `${uid}/${container}`;
const partsOf = (key: string): [uid: string, container: string] => {
  const at = key.lastIndexOf('/');
  return [key.slice(0, at), key.slice(at + 1)];
};

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined;
const rounded = (value: number | undefined): number | null =>
  value === undefined ? null : Math.round(value);

const SPEC: TableSpec<RestartRecord> = {
  select: 'SELECT uid, container, count, delay_ms, last_restart, ended FROM restart',
  upsert: `INSERT INTO restart (uid, container, count, delay_ms, last_restart, ended)
           VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (uid, container) DO UPDATE SET count = excluded.count, ended = excluded.ended,
             delay_ms = excluded.delay_ms, last_restart = excluded.last_restart`,
  remove: 'DELETE FROM restart WHERE uid = ? AND container = ?',
  fromRow: (row) => {
    return [
      keyOf(String(row['uid']), String(row['container'])),
      {
        count: Number(row['count']),
        delayMs: Number(row['delay_ms']),
        lastRestartWallMs: numberOf(row['last_restart']),
        endedWallMs: numberOf(row['ended']),
      },
    ];
  },
  toParams: (key, row) => [
    ...partsOf(key),
    row.count,
    Math.round(row.delayMs),
    rounded(row.lastRestartWallMs),
    rounded(row.endedWallMs),
  ],
  toKeyParams: partsOf,
};

export class RestartRecords {
  readonly #table = new MirroredTable(SPEC);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#table);
  }

  put(uid: string, container: string, record: RestartRecord): void {
    const old = this.#table.get(keyOf(uid, container));
    if (
      old?.count === record.count &&
      old.delayMs === record.delayMs &&
      old.lastRestartWallMs === record.lastRestartWallMs &&
      old.endedWallMs === record.endedWallMs
    ) {
      return;
    }
    this.#table.set(keyOf(uid, container), { ...record });
    // Before the container runs again: whoever kills the agent then does not shorten its next pause.
    this.#store.touch(record.delayMs > 0 ? 'prompt' : 'soon');
  }

  get(uid: string, container: string): RestartRecord | undefined {
    return this.#table.get(keyOf(uid, container));
  }

  /** By container name. */
  allOf(uid: string): Map<string, RestartRecord> {
    const found = new Map<string, RestartRecord>();
    for (const [key, record] of this.#table.entries()) {
      const [owner, container] = partsOf(key);
      if (owner === uid) found.set(container, record);
    }
    return found;
  }

  uids(): string[] {
    return [...new Set([...this.#table.entries()].map(([key]) => partsOf(key)[0]))];
  }

  deletePod(uid: string): void {
    const containers = [...this.allOf(uid).keys()];
    for (const container of containers) this.#table.delete(keyOf(uid, container));
    if (containers.length > 0) this.#store.touch('soon');
  }
}
