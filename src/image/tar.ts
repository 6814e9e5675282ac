/**
 * Owns: writing a tar archive (ustar). Invariant: the same entries give the same bytes: times are 0,
 * owners are root, the order is the caller's.
 */
export type TarEntry =
  | { readonly kind: 'dir'; readonly path: string; readonly mode: number }
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly body: Buffer }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

const BLOCK = 512;
const TYPE = { file: '0', link: '2', dir: '5' } as const;

/** Paths and link targets may have at most 100 bytes; longer ones are a broken invariant. */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const body = entry.kind === 'file' ? entry.body : Buffer.alloc(0);
    parts.push(header(entry, body.length), body, Buffer.alloc(padding(body.length)));
  }
  parts.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(parts);
}

/**
 *   0 name[100] 100 mode[8] 108 uid[8] 116 gid[8] 124 size[12] 136 mtime[12] 148 sum[8] 156 type
 *   157 target[100] 257 "ustar\0" 263 "00" …
 */
function header(entry: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const text = (value: string, offset: number, length: number): void => {
    if (Buffer.byteLength(value) > length) throw new Error(`too long for a tar header: ${value}`);
    block.write(value, offset);
  };
  const octal = (value: number, offset: number, length: number): void =>
    text(value.toString(8).padStart(length - 1, '0'), offset, length - 1);
  text(entry.kind === 'dir' ? `${entry.path}/` : entry.path, 0, 100);
  octal(entry.kind === 'link' ? 0o777 : entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(TYPE[entry.kind], 156);
  if (entry.kind === 'link') text(entry.target, 157, 100);
  block.write('ustar\x0000', 257);
  // The sum is taken with spaces in its own field.
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function padding(length: number): number {
  return (BLOCK - (length % BLOCK)) % BLOCK;
}
