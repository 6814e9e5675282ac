/**
 * Owns: how often in a row each pod was evicted, so that an agent restart does not shorten the wait of a
 * pod that brings the node down whenever it runs (eviction/returns.ts).
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

const SPEC: TableSpec<number> = {
  select: 'SELECT uid, strikes FROM eviction',
  upsert: `INSERT INTO eviction (uid, strikes) VALUES (?, ?)
           ON CONFLICT (uid) DO UPDATE SET strikes = excluded.strikes`,
  remove: 'DELETE FROM eviction WHERE uid = ?',
  fromRow: (row) => [String(row['uid']), Number(row['strikes'])],
  toParams: (uid, strikes) => [uid, strikes],
  toKeyParams: (uid) => [uid],
};

export class EvictionRecords {
  readonly #table = new MirroredTable(SPEC);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#table);
  }

  /** Evictions in a row by uid. */
  all(): [uid: string, strikes: number][] {
    return [...this.#table.entries()];
  }

  put(uid: string, strikes: number): void {
    this.#table.set(uid, strikes);
    this.#store.touch('soon');
  }

  delete(uid: string): void {
    if (this.#table.delete(uid)) this.#store.touch('late');
  }
}
