/**
 * Owns: bytes as text and back without a loss, though they may be no UTF-8: a byte that belongs to no
 * character is the lone surrogate U+DC00 + byte, which no text from a file can have.
 */
import { isUtf8 } from 'node:buffer';

const LONGEST_CHARACTER = 4;
const LONE = /((?<![\ud800-\udbff])[\udc80-\udcff])/;

export function textOfBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString();
  let text = '';
  for (let at = 0; at < buffer.length;) {
    const length = characterLength(buffer, at);
    text +=
      length > 0
        ? buffer.toString('utf8', at, at + length)
        : String.fromCharCode(0xdc00 + (buffer[at] ?? 0));
    at += Math.max(1, length);
  }
  return text;
}

export function bytesOfText(text: string): Uint8Array {
  const encoder = new TextEncoder();
  if (!LONE.test(text)) return encoder.encode(text);
  // Odd parts are what the expression takes out.
  const parts = text
    .split(LONE)
    .map((part, i) =>
      i % 2 === 1 ? Buffer.of(part.charCodeAt(0) - 0xdc00) : encoder.encode(part),
    );
  return Buffer.concat(parts);
}

/** Bytes of the character that begins at `at`; 0: none does. */
function characterLength(buffer: Buffer, at: number): number {
  for (let length = 1; length <= LONGEST_CHARACTER && at + length <= buffer.length; length++) {
    if (isUtf8(buffer.subarray(at, at + length))) return length;
  }
  return 0;
}
