/**
 * Owns: who may use an image that islet pulled: for each image and repository, everyone, or the pods
 * that name one of some pull secrets; and the pulls with secrets that have begun and not ended, so that a
 * crash in between does not leave an image that looks as if it had always been there.
 * Invariant: secrets are known by namespace and name only; nothing of what they hold is kept.
 * Leaves to others: what follows from it (image/access.ts).
 */
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

export interface RepositoryAccess {
  /** Pulled without credentials, or with the node's: any pod could have pulled it. */
  readonly everyone: boolean;
  /** `NAMESPACE/NAME` of the pull secrets it was pulled with. */
  readonly secrets: readonly string[];
}

/** By repository. */
export type ImageAccessRecord = Readonly<Record<string, RepositoryAccess>>;

const RECORD: TableSpec<ImageAccessRecord> = {
  select: 'SELECT image, access FROM image_access',
  upsert: `INSERT INTO image_access (image, access) VALUES (?, ?)
           ON CONFLICT (image) DO UPDATE SET access = excluded.access`,
  remove: 'DELETE FROM image_access WHERE image = ?',
  fromRow: (row) => [String(row['image']), recordOf(String(row['access']))],
  toParams: (image, record) => [image, JSON.stringify(record)],
  toKeyParams: (image) => [image],
};

/** Keyed by the full name of the image. */
const PULLING: TableSpec<true> = {
  select: 'SELECT name FROM image_pulling',
  upsert: 'INSERT INTO image_pulling (name) VALUES (?) ON CONFLICT (name) DO NOTHING',
  remove: 'DELETE FROM image_pulling WHERE name = ?',
  fromRow: (row) => [String(row['name']), true],
  toParams: (name) => [name],
  toKeyParams: (name) => [name],
};

export class ImageAccessRecords {
  readonly #records = new MirroredTable(RECORD);
  readonly #pulling = new MirroredTable(PULLING);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#records);
    store.add(this.#pulling);
  }

  /** By the runtime's id of the image. */
  get(image: string): ImageAccessRecord | undefined {
    return this.#records.get(image);
  }

  put(image: string, record: ImageAccessRecord): void {
    this.#records.set(image, record);
    this.#store.touch('now');
  }

  delete(image: string): void {
    if (this.#records.delete(image)) this.#store.touch('late');
  }

  images(): string[] {
    return [...this.#records.entries()].map(([image]) => image);
  }

  /** Whether a pull of that name with a secret began, and its end was not seen. */
  isPulling(name: string): boolean {
    return this.#pulling.get(name) === true;
  }

  /** False when one had begun already. */
  beginPull(name: string): boolean {
    if (this.#pulling.get(name)) return false;
    this.#pulling.set(name, true);
    this.#store.touch('now');
    return true;
  }

  endPull(name: string): void {
    if (this.#pulling.delete(name)) this.#store.touch('now');
  }
}

/** A row that cannot be understood lets nobody in who cannot pull the image. */
function recordOf(text: string): ImageAccessRecord {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as ImageAccessRecord) : {};
  } catch {
    return {};
  }
}
