/**
 * Owns: a small keyed table that is whole in memory and mirrored to SQLite.
 * Invariants: a read never touches the disk; a key is dirty exactly while memory and database may
 * differ in it; statements are prepared once per connection.
 * Why in memory: these tables have a row a pod, container, file or image, a few KiB each; with them in
 * memory a full or damaged disk costs nothing but the persistence.
 */
import type Database from 'better-sqlite3';
import type { StoredRecord } from './write-behind.ts';

export interface TableSpec<V> {
  /** Reads all rows. */
  readonly select: string;
  readonly upsert: string;
  readonly remove: string;
  /** A row of `select` as key and value. */
  fromRow(row: Record<string, unknown>): [key: string, value: V];
  /** Parameters of `upsert`; undefined: this value can no longer be written. */
  toParams(key: string, value: V): unknown[] | undefined;
  /** Parameters of `remove`. */
  toKeyParams(key: string): unknown[];
  /** What stays in memory once the value is on disk; default: the value. */
  settled?(value: V): V;
}

export class MirroredTable<V> implements StoredRecord {
  readonly #spec: TableSpec<V>;
  readonly #rows = new Map<string, V>();
  readonly #dirty = new Set<string>();
  #upsert: Database.Statement | undefined;
  #remove: Database.Statement | undefined;

  constructor(spec: TableSpec<V>) {
    this.#spec = spec;
  }

  get dirty(): boolean {
    return this.#dirty.size > 0;
  }

  get(key: string): V | undefined {
    return this.#rows.get(key);
  }

  entries(): IterableIterator<[string, V]> {
    return this.#rows.entries();
  }

  set(key: string, value: V): void {
    this.#rows.set(key, value);
    this.#dirty.add(key);
  }

  /** Whether the key was there. */
  delete(key: string): boolean {
    const had = this.#rows.delete(key);
    // Before the first connection the database may hold a row that memory does not know.
    if (had || !this.#remove) this.#dirty.add(key);
    return had;
  }

  attach(db: Database.Database): void {
    this.#upsert = db.prepare(this.#spec.upsert);
    this.#remove = db.prepare(this.#spec.remove);
    for (const row of db.prepare(this.#spec.select).iterate()) {
      const [key, value] = this.#spec.fromRow(row as Record<string, unknown>);
      // What changed while there was no database is newer than what the database says.
      if (this.#rows.has(key) || this.#dirty.has(key)) continue;
      this.#rows.set(key, this.#spec.settled?.(value) ?? value);
    }
  }

  write(): void {
    for (const key of this.#dirty) {
      const value = this.#rows.get(key);
      if (value === undefined) {
        this.#remove?.run(...this.#spec.toKeyParams(key));
        continue;
      }
      const params = this.#spec.toParams(key, value);
      if (params) this.#upsert?.run(...params);
    }
  }

  written(): void {
    const settle = this.#spec.settled?.bind(this.#spec);
    if (settle) {
      for (const key of this.#dirty) {
        const value = this.#rows.get(key);
        if (value !== undefined) this.#rows.set(key, settle(value));
      }
    }
    this.#dirty.clear();
  }

  rewrite(): void {
    for (const key of this.#rows.keys()) this.#dirty.add(key);
  }
}
