/**
 * Owns: when each image was last used, which the runtime does not tell.
 * Invariant: a use within FRESH_MS of the stored one is not a change, so running pods cost no writes.
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

const FRESH_MS = 60 * 60_000;

const SPEC: TableSpec<number> = {
  select: 'SELECT ref, last_used FROM image',
  upsert: `INSERT INTO image (ref, last_used) VALUES (?, ?)
           ON CONFLICT (ref) DO UPDATE SET last_used = excluded.last_used`,
  remove: 'DELETE FROM image WHERE ref = ?',
  fromRow: (row) => [String(row['ref']), Number(row['last_used'])],
  toParams: (ref, lastUsed) => [ref, Math.round(lastUsed)],
  toKeyParams: (ref) => [ref],
};

export class ImageUse {
  readonly #table = new MirroredTable(SPEC);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#table);
  }

  /** The image `ref` is in use at `wallMs`. */
  touch(ref: string, wallMs: number): void {
    const last = this.#table.get(ref);
    if (last !== undefined && Math.abs(wallMs - last) < FRESH_MS) return;
    this.#table.set(ref, wallMs);
    this.#store.touch('late');
  }

  /** Wall milliseconds, right to FRESH_MS. */
  lastUsed(ref: string): number | undefined {
    return this.#table.get(ref);
  }

  all(): { ref: string; lastUsed: number }[] {
    return [...this.#table.entries()].map(([ref, lastUsed]) => ({ ref, lastUsed }));
  }

  delete(ref: string): void {
    if (this.#table.delete(ref)) this.#store.touch('late');
  }
}
