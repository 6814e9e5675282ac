/**
 * Owns: the two forms of Docker's configuration, as far as they hold credentials: `config.json` with its
 * `auths`, and the older `.dockercfg`, which is that map alone (spec: gc-logs-images.md §5.1).
 * Invariant: an error says which entry is wrong and how, never what stands in it.
 */
import { IsletError } from '../util/errors.ts';
import type { Login } from './keyring.ts';

export type DockerConfigForm = 'config.json' | '.dockercfg';

/** A key of `auths` with its login, in the order of the file. */
export interface DockerEntry {
  readonly key: string;
  readonly login: Login;
}

/** @throws IsletError `invalid` when the text is no such configuration. */
export function parseDockerConfig(text: string, form: DockerConfigForm): DockerEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The words of the parser would quote the text.
    throw new IsletError('invalid', 'not valid JSON');
  }
  const auths = form === '.dockercfg' ? value : member(value, 'auths', '');
  if (auths === undefined || auths === null) return [];
  const where = form === '.dockercfg' ? '' : 'auths';
  if (!isObject(auths)) throw wrong(where, 'an object');
  return Object.entries(auths).map(([key, entry]) => ({
    key,
    login: loginOf(entry, `${where}["${key}"]`),
  }));
}

function loginOf(entry: unknown, where: string): Login {
  const text = (name: string): string => {
    const value = member(entry, name, where);
    if (value === undefined || value === null) return '';
    if (typeof value !== 'string') throw wrong(`${where}.${name}`, 'a string');
    return value;
  };
  const auth = text('auth');
  if (auth === '') return { username: text('username'), password: text('password') };
  const decoded = /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(auth)
    ? Buffer.from(auth, 'base64').toString()
    : '';
  const colon = decoded.indexOf(':');
  if (colon < 0) throw wrong(`${where}.auth`, 'base64 of user:password');
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function member(value: unknown, name: string, where: string): unknown {
  if (!isObject(value)) throw wrong(where, 'an object');
  return value[name];
}

function wrong(where: string, expected: string): IsletError {
  return new IsletError('invalid', `${where === '' ? '' : `${where}: `}expected ${expected}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
