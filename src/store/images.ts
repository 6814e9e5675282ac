/**
 * Owns: the order in which images were last used, which the runtime does not tell.
 * Invariant: only the order is reliable: the stamps are wall milliseconds where the clock goes forward, and
 * what follows the highest one where it does not (image/use-ledger.ts).
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

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

  put(ref: string, stamp: number): void {
    this.#table.set(ref, stamp);
    this.#store.touch('late');
  }

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
