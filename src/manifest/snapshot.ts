/**
 * Owns: reading a manifest file in one piece: the bytes belong to one moment, or they are not used.
 * Leaves to others: whether somebody is still writing (writer.ts), what the bytes mean (load.ts).
 */
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { messageOf } from '../util/errors.ts';
import { type Signature, sameSignature, signatureOf } from './listing.ts';

export type Snapshot =
  | {
      readonly kind: 'content';
      readonly content: Uint8Array;
      readonly digest: string;
      readonly signature: Signature;
      readonly realPath: string;
      /** Permission bits of the file itself, where the path is a link. */
      readonly mode: number;
    }
  | { readonly kind: 'too-large'; readonly signature: Signature }
  | { readonly kind: 'unreadable'; readonly reason: string }
  /** It went away or changed while it was read: look again. */
  | { readonly kind: 'changing' };

/** Names content: equal bytes give equal texts. */
export type DigestOf = (content: Uint8Array) => string;

/** Spec: static-pods.md §2. */
export const MAX_MANIFEST_BYTES = 10 * 2 ** 20;

export async function readSnapshot(file: string, digestOf: DigestOf): Promise<Snapshot> {
  let handle: FileHandle | undefined;
  try {
    // O_NONBLOCK: a fifo that took the file's place must not hold the source up.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = await handle.stat({ bigint: true });
    if (!before.isFile()) return { kind: 'changing' };
    if (before.size > MAX_MANIFEST_BYTES) {
      return { kind: 'too-large', signature: signatureOf(before) };
    }
    const content = await readBytes(handle, before);
    const signature = signatureOf(await handle.stat({ bigint: true }));
    if (!content || !sameSignature(signature, signatureOf(before))) return { kind: 'changing' };
    const mode = Number(before.mode & 0o777n);
    const digest = digestOf(content);
    return { kind: 'content', content, digest, signature, realPath: await realpath(file), mode };
  } catch (error) {
    const gone = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return gone ? { kind: 'changing' } : { kind: 'unreadable', reason: messageOf(error) };
  } finally {
    await handle?.close().catch(() => undefined);
  }
}

/** Whether the path still leads to the file as it was when it was read. */
export async function isUnchanged(file: string, signature: Signature): Promise<boolean> {
  try {
    return sameSignature(signatureOf(await stat(file, { bigint: true })), signature);
  } catch {
    return false;
  }
}

/** All bytes, or undefined when the file is not as long as it was. */
async function readBytes(handle: FileHandle, stats: BigIntStats): Promise<Uint8Array | undefined> {
  const size = Number(stats.size);
  // One byte more tells whether the file has grown.
  const buffer = Buffer.allocUnsafeSlow(size + 1);
  let length = 0;
  while (length <= size) {
    const { bytesRead } = await handle.read(buffer, length, size + 1 - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length === size ? buffer.subarray(0, size) : undefined;
}
