/**
 * Owns: when each pod uid was first seen, for the annotation `config.seen` (spec: static-pods.md §3,
 * step 11), so that the stamp stays the same over an agent restart.
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

const SPEC: TableSpec<number> = {
  select: 'SELECT uid, seen_at FROM first_seen',
  upsert: `INSERT INTO first_seen (uid, seen_at) VALUES (?, ?)
           ON CONFLICT (uid) DO UPDATE SET seen_at = excluded.seen_at`,
  remove: 'DELETE FROM first_seen WHERE uid = ?',
  fromRow: (row) => [String(row['uid']), Number(row['seen_at'])],
  toParams: (uid, seenAt) => [uid, Math.round(seenAt)],
  toKeyParams: (uid) => [uid],
};

export class FirstSeen {
  readonly #table = new MirroredTable(SPEC);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#table);
  }

  /** Wall milliseconds. */
  get(uid: string): number | undefined {
    return this.#table.get(uid);
  }

  put(uid: string, wallMs: number): void {
    if (this.#table.get(uid) === wallMs) return;
    this.#table.set(uid, wallMs);
    this.#store.touch('now');
  }

  uids(): string[] {
    return [...this.#table.entries()].map(([uid]) => uid);
  }

  delete(uid: string): void {
    if (this.#table.delete(uid)) this.#store.touch('soon');
  }
}
