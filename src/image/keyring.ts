/**
 * Owns: which credentials of a set belong to an image (spec: gc-logs-images.md §5.1). Pure.
 * Invariants: the more specific key comes first (keys in reverse lexical order, several credentials of
 * one key in the order in which they were added); a key that is no host and path matches nothing.
 */
import { isDefaultRegistry } from './repository.ts';

/** Whom to be towards a registry. Never shown, logged or stored. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** Where Docker itself files the credentials of its registry. */
const DEFAULT_KEY = 'index.docker.io';

interface Target {
  readonly labels: readonly string[];
  readonly port: string;
  /** '' or with a leading slash. */
  readonly path: string;
}

export class Keyring<T extends Login = Login> {
  readonly #byKey = new Map<string, T[]>();

  /** `key` as in the `auths` of a Docker configuration: a host, or a URL. */
  add(key: string, login: T): void {
    const normal = normalizeKey(key);
    if (normal === undefined) return;
    const there = this.#byKey.get(normal);
    if (there) there.push(login);
    else this.#byKey.set(normal, [login]);
  }

  /** `repository`: full, as `repositoryOf` gives it. */
  lookup(repository: string): readonly T[] {
    const keys = [...this.#byKey.keys()].sort(reverseLexical);
    const found = keys
      .filter((key) => matchesImage(key, repository))
      .flatMap((key) => this.#byKey.get(key) ?? []);
    if (found.length > 0 || !isDefaultRegistry(repository)) return found;
    return this.#byKey.get(DEFAULT_KEY) ?? [];
  }
}

/**
 * Whether a pattern `host[:port][/path]` covers an image: as many labels, each a glob of one label, the
 * same port, and the path a prefix of the image's (of the text, not of its parts).
 */
export function matchesImage(pattern: string, image: string): boolean {
  const glob = split(pattern);
  const target = split(image);
  if (!glob || !target) return false;
  return (
    glob.port === target.port &&
    glob.labels.length === target.labels.length &&
    target.path.startsWith(glob.path) &&
    glob.labels.every((label, i) => globRegExp(label)?.test(target.labels[i] ?? '') ?? false)
  );
}

/** `https://index.docker.io/v1/` is `index.docker.io`; undefined for what is no host and path. */
function normalizeKey(key: string): string | undefined {
  const bare = key.replace(/^https?:\/\//, '').replace(/[?#].*$/s, '');
  const slash = bare.indexOf('/');
  const host = slash < 0 ? bare : bare.slice(0, slash);
  let path = slash < 0 ? '' : bare.slice(slash);
  if (/^\/v[12]\//.test(path)) path = path.slice(3);
  if (path === '/') path = '';
  return split(host + path) && host + path;
}

function split(text: string): Target | undefined {
  const slash = text.indexOf('/');
  const authority = slash < 0 ? text : text.slice(0, slash);
  const path = slash < 0 ? '' : text.slice(slash);
  const [, host, port = ''] = /^(\[[^\]]*\]|[^:\s]*)(?::(\d*))?$/.exec(authority) ?? [];
  if (host === undefined) return undefined;
  return { labels: host.startsWith('[') ? [host] : host.split('.'), port, path };
}

/** `*`, `?` and `[…]` as in file names; undefined for a pattern that is broken. */
function globRegExp(glob: string): RegExp | undefined {
  if (/^\[[0-9a-fA-F:]+\]$/.test(glob) && glob.includes(':')) {
    return new RegExp(`^${escape(glob)}$`);
  }
  let source = '';
  for (let i = 0; i < glob.length; i++) {
    const char = glob[i] ?? '';
    if (char === '*') source += '.*';
    else if (char === '?') source += '.';
    else if (char === '[') {
      const [whole, not, body] = /^\[(\^?)([^\]]+)\]/.exec(glob.slice(i)) ?? [];
      if (whole === undefined) return undefined;
      source += `[${not === '^' ? '^' : ''}${(body ?? '').replaceAll(/[\\[\]^]/g, '\\$&')}]`;
      i += whole.length - 1;
    } else source += escape(char);
  }
  try {
    return new RegExp(`^${source}$`, 's');
  } catch {
    return undefined; // a range such as [z-a]
  }
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Keys are ASCII in practice; by UTF-16 units the order is the same as by bytes there. */
function reverseLexical(a: string, b: string): number {
  return a < b ? 1 : a > b ? -1 : 0;
}
