/**
 * Owns: turning the bytes of a manifest into text: size limit, byte order marks, UTF-8 and UTF-16,
 * characters that YAML forbids, line ends. Rules: spec static-pods §2 and what the upstream's YAML
 * reader accepts. Leaves to others: what the text says (yaml-tree.ts, json-tree.ts).
 */

/** Spec static-pods §2: larger files are errors. */
export const MAX_BYTES = 10 * 2 ** 20;

export type TextResult =
  /** `json`: the first character that is not blank is `{`, so it has to be strict JSON. */
  | { ok: true; text: string; json: boolean }
  | { ok: false; message: string; text: string; at: number };

const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]/;

/** Decodes a whole manifest; never throws. `at` of a failure is an offset in its `text`. */
export function decodeText(bytes: Uint8Array): TextResult {
  if (bytes.length > MAX_BYTES) {
    const message = `the file has ${bytes.length} bytes, at most ${MAX_BYTES} (10 MiB) are read`;
    return { ok: false, message, text: '', at: 0 };
  }
  const encoding = encodingOf(bytes);
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    const lossy = new TextDecoder(encoding).decode(bytes);
    const at = Math.max(0, lossy.indexOf('\ufffd'));
    const name = encoding === 'utf-8' ? 'UTF-8' : 'UTF-16';
    return {
      ok: false,
      message: `not valid ${name}: is the file in another encoding?`,
      text: lossy,
      at,
    };
  }
  // Only JSON without a byte order mark is taken for JSON, as upstream looks at the first byte.
  const json = bytes[0] !== 0xef && encoding === 'utf-8' && /^\s*\{/.test(text);
  if (json) return { ok: true, text, json };
  const forbidden = text.search(FORBIDDEN);
  if (forbidden >= 0) {
    const code = text.charCodeAt(forbidden).toString(16).toUpperCase().padStart(4, '0');
    const message = `control character U+${code} is not allowed in YAML`;
    return { ok: false, message, text, at: forbidden };
  }
  return { ok: true, text: lineFeeds(text), json };
}

function encodingOf(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return 'utf-8';
}

/** A lone CR or NEL ends a line in YAML 1.1; offsets stay as they are. */
function lineFeeds(text: string): string {
  return /\r(?!\n)|\x85/.test(text) ? text.replace(/\r(?!\n)|\x85/g, '\n') : text;
}
