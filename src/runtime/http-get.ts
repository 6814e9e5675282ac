/**
 * Owns: what an httpGet action sends, of a probe (spec: probes.md §3.1) and of a lifecycle hook: the request
 * target, the header lines. Pure.
 */
import type { HttpGetAction } from '../api/pod.ts';

/** What needs no look: nearly every path. */
const PLAIN = /^\/[A-Za-z0-9\-._~/?=&]*$/;

/** `path` as the first line of the request has it: escaped, with its query, without a fragment. */
export function requestTarget(path: string): string {
  if (PLAIN.test(path)) return path;
  const whole = path.split('#', 1)[0] ?? '';
  const query = whole.indexOf('?');
  const bare = query < 0 ? whole : whole.slice(0, query);
  // What is no URL is a path as it stands, and so its % and ? stand for themselves.
  if (/%(?![0-9a-fA-F]{2})/.test(bare) || hasControl(path)) {
    return rooted(escaped(path).replaceAll('?', '%3F').replaceAll('#', '%23'));
  }
  return rooted(escaped(whole).replace(/%25([0-9a-fA-F]{2})/g, '%$1'));
}

function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function escaped(text: string): string {
  // Through bytes: half a surrogate pair, which a URI cannot have, becomes U+FFFD.
  return encodeURI(Buffer.from(text).toString());
}

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

/** Written by the client itself, whatever the manifest says. */
const OWN_HEADERS = new Set([
  'host',
  'user-agent',
  'content-length',
  'transfer-encoding',
  'trailer',
]);

export interface HeaderLine {
  readonly name: string;
  readonly value: string;
}

export type ProbeHeaders = HttpGetAction['httpHeaders'];

/** The Host header of the manifest; undefined: none, or an empty one. */
export function givenHost(given: ProbeHeaders): string | undefined {
  return firstOf(given, 'host') || undefined;
}

const CLOSE: HeaderLine = { name: 'Connection', value: 'close' };

/** A User-Agent or an Accept of the manifest replaces ours, an empty one leaves the header out. */
export function headerLines(given: ProbeHeaders, host: string, userAgent: string): HeaderLine[] {
  const lines: HeaderLine[] = [{ name: 'Host', value: host }];
  const agent = firstOf(given, 'user-agent') ?? userAgent;
  if (agent !== '') lines.push({ name: 'User-Agent', value: agent });
  if (firstOf(given, 'connection') === undefined) lines.push(CLOSE);
  const accept = firstOf(given, 'accept');
  if (accept === undefined) lines.push({ name: 'Accept', value: '*/*' });
  for (const line of given ?? []) {
    const lower = line.name.toLowerCase();
    if (!OWN_HEADERS.has(lower) && !(lower === 'accept' && accept === '')) lines.push(line);
  }
  return lines;
}

function firstOf(given: ProbeHeaders, wanted: string): string | undefined {
  return given?.find(({ name }) => name.toLowerCase() === wanted)?.value;
}
