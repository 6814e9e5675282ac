/**
 * Owns: what kind of failure an error of PullImage is: whether the registry gave its word on the image
 * or could not be asked. The one place that reads the text of such an error: containerd 1.6, 1.7 and
 * 2.1 answer UNKNOWN with the words of Go's network code or of the HTTP status for all of them, but for
 * NOT_FOUND.
 * Invariants: what cannot be told is `refused`; nothing that a registry or an image's name can put into
 * the text makes it `unreachable`.
 */
import { runtimeText } from './errors.ts';

/**
 * - `unreachable`: nobody said anything about the image: no name resolution, no connection, no answer in
 *   time, or an HTTP status that is about the server's state only (408, 429, 5xx).
 * - `refused`: all else, e.g. `not found`, `denied`, a certificate that cannot be verified, or trouble
 *   of the runtime itself.
 */
export type PullFault = 'unreachable' | 'refused';

/** `… from HEAD request to URL: 503 …`, `… code URL: 503 …`, `… failed with status code [manifests 1]: 503 …` */
const STATUS = /(?:unexpected status|failed with status code)[^:\n]*(?::\/\/[^\s]*|\])?: (\d{3})\b/;

/**
 * After the verb of a request that was not answered: dialling, TLS, waiting. `is before`: to a node whose
 * clock has not been set every certificate is of the future; nobody can be verified, so nobody is reached.
 */
const NO_ANSWER = [
  /\bno such host$/,
  /\bserver misbehaving$/,
  /\btemporary failure in name resolution$/i,
  /\bconnection refused$/,
  /\bconnection reset by peer$/,
  /\bconnection timed out$/,
  /\bno route to host$/,
  /\bnetwork is (?:unreachable|down)$/,
  /\bhost is (?:unreachable|down)$/,
  /\bbroken pipe$/,
  /\bi\/o timeout$/,
  /\bTLS handshake timeout$/,
  /\btimeout awaiting response headers$/,
  /\bhttp2: .*\b(?:connection lost|timeout)\b.*$/,
  /\bcontext (?:deadline exceeded|canceled)(?: \(.*\))?$/,
  /(?:^|[\s:])(?:unexpected )?EOF$/,
  /\bcertificate has expired or is not yet valid: current time \S+ is before \S+$/,
];

/** A request, or the reading of its answer, is what failed: not a socket of the runtime's own. */
const OF_THE_NETWORK =
  /\b(?:Head|Get|Post) "": |\bproxyconnect tcp: |\b(?:dial|read|write) tcp\b|\bfailed to copy: |: context (?:canceled|deadline exceeded)$/;

/** By the runtime's own marking, a text that starts so (spec: pod-lifecycle.md §8). */
const MARKED = /^RegistryUnavailable\b/;

/** `error`: what `pullImage` threw, or the text of it. */
export function pullFault(error: unknown): PullFault {
  const text = typeof error === 'string' ? error : runtimeText(error);
  return isUnreachable(text) ? 'unreachable' : 'refused';
}

function isUnreachable(text: string): boolean {
  if (MARKED.test(text)) return true;
  // Names of images and addresses stand in quotes, and may be anything.
  const bare = text.trim().replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  const status = STATUS.exec(bare)?.[1];
  if (status !== undefined) return aboutTheServer(Number(status));
  if (/\bdial unix\b/.test(bare)) return false;
  return OF_THE_NETWORK.test(bare) && NO_ANSWER.some((pattern) => pattern.test(bare));
}

function aboutTheServer(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status <= 599);
}
