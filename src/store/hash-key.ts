/**
 * Owns: the random key of this node, in a file that only root can read, and hashes made with it. What
 * is stored or handed to the runtime as such a hash is no way to try out guesses at a secret.
 * Invariant: a key that is lost costs nothing but the comparison with older hashes, which `id` tells
 * apart: nobody may take a hash of another key for a change.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';

const KEY_BYTES = 32;

export class HashKey {
  /** Names the key without telling it: 8 hex digits. */
  readonly id: string;
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
    this.id = this.hash('id').slice(0, 8);
  }

  static random(): HashKey {
    return new HashKey(randomBytes(KEY_BYTES));
  }

  /** 64 hex digits (HMAC-SHA-256). */
  hash(content: Uint8Array | string): string {
    return createHmac('sha256', this.#key).update(content).digest('hex');
  }
}

/** The key in `file`, made there when it is missing. A disk that takes none gives one for this run. */
export function openHashKey(file: string, logger: Logger): HashKey {
  const known = readKey(file);
  if (known) return new HashKey(known);
  const key = randomBytes(KEY_BYTES);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, key, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    logger.warn('the key for hashes cannot be kept; it is good for this run only', {
      file,
      why: messageOf(error),
    });
  }
  return new HashKey(key);
}

function readKey(file: string): Uint8Array | undefined {
  try {
    const key = readFileSync(file);
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}
