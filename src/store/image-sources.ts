/**
 * Owns: where images came from: the name under which a registry gave each one, and when each registry
 * last answered. An image without a row was imported, or was there before islet.
 * Invariant: a registry that goes on answering costs a write a day.
 * Leaves to others: whether an image can be had again (image/use-ledger.ts).
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

export interface RegistryRecord {
  /** Wall milliseconds, right to a day. */
  readonly answeredAt: number;
  /** Whether the last try reached it. */
  readonly reachable: boolean;
}

const FRESH_MS = 24 * 3_600_000;

const SOURCE: TableSpec<string> = {
  select: 'SELECT image, name FROM image_source',
  upsert: `INSERT INTO image_source (image, name) VALUES (?, ?)
           ON CONFLICT (image) DO UPDATE SET name = excluded.name`,
  remove: 'DELETE FROM image_source WHERE image = ?',
  fromRow: (row) => [String(row['image']), String(row['name'])],
  toParams: (image, name) => [image, name],
  toKeyParams: (image) => [image],
};

const REGISTRY: TableSpec<RegistryRecord> = {
  select: 'SELECT host, answered_at, reachable FROM registry',
  upsert: `INSERT INTO registry (host, answered_at, reachable) VALUES (?, ?, ?)
           ON CONFLICT (host) DO UPDATE SET answered_at = excluded.answered_at, reachable = excluded.reachable`,
  remove: 'DELETE FROM registry WHERE host = ?',
  fromRow: (row) => [
    String(row['host']),
    { answeredAt: Number(row['answered_at']), reachable: row['reachable'] === 1 },
  ],
  toParams: (host, { answeredAt, reachable }) => [host, Math.round(answeredAt), reachable ? 1 : 0],
  toKeyParams: (host) => [host],
};

export class ImageSources {
  readonly #sources = new MirroredTable(SOURCE);
  readonly #registries = new MirroredTable(REGISTRY);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#sources);
    store.add(this.#registries);
  }

  /** The name by which a registry gave the image; undefined: none did. */
  sourceOf(image: string): string | undefined {
    return this.#sources.get(image);
  }

  pulled(image: string, name: string): void {
    if (this.#sources.get(image) === name) return;
    this.#sources.set(image, name);
    this.#store.touch('soon');
  }

  registry(host: string): RegistryRecord | undefined {
    return this.#registries.get(host);
  }

  answered(host: string, wallMs: number): void {
    const known = this.#registries.get(host);
    if (known?.reachable && Math.abs(wallMs - known.answeredAt) < FRESH_MS) return;
    this.#registries.set(host, { answeredAt: wallMs, reachable: true });
    this.#store.touch('soon');
  }

  /** Nothing answered. */
  silent(host: string): void {
    const known = this.#registries.get(host);
    if (!known?.reachable) return;
    this.#registries.set(host, { ...known, reachable: false });
    this.#store.touch('soon');
  }

  images(): string[] {
    return [...this.#sources.entries()].map(([image]) => image);
  }

  delete(image: string): void {
    if (this.#sources.delete(image)) this.#store.touch('late');
  }
}
