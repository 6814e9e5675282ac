/**
 * Owns: the words of the credential plugin protocol: the request on stdin and the strict reading of the
 * answer on stdout (spec: gc-logs-images.md §5.2). Pure.
 * Invariant: an error names the field and what was expected; what the answer holds is in no message.
 */
import { parseDocument } from 'yaml';
import { parseDuration } from '../config/duration.ts';
import { IsletError } from '../util/errors.ts';
import type { Login } from './keyring.ts';

export type CacheKeyType = 'Image' | 'Registry' | 'Global';

export interface PluginAnswer {
  readonly cacheKeyType: CacheKeyType;
  /** undefined: the provider's default. */
  readonly cacheDurationMs: number | undefined;
  /** Logins by the pattern of the images that they are for. */
  readonly auth: ReadonlyMap<string, Login>;
}

const CACHE_KEY_TYPES: readonly string[] = ['Image', 'Registry', 'Global'] satisfies CacheKeyType[];
const KIND = 'CredentialProviderResponse';

export function pluginRequest(apiVersion: string, image: string): string {
  return JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image });
}

/** `apiVersion`: that of the request. @throws IsletError `corrupt` */
export function readPluginAnswer(text: string, apiVersion: string): PluginAnswer {
  const answer = fieldsOf(parse(text), '', [
    'apiVersion',
    'kind',
    'cacheKeyType',
    'cacheDuration',
    'auth',
  ]);
  if (answer['kind'] !== KIND) throw wrong('kind', KIND);
  if (answer['apiVersion'] !== apiVersion) throw wrong('apiVersion', apiVersion);
  const cacheKeyType = answer['cacheKeyType'];
  if (!isCacheKeyType(cacheKeyType)) throw wrong('cacheKeyType', CACHE_KEY_TYPES.join(' or '));
  return {
    cacheKeyType,
    cacheDurationMs: durationOf(answer['cacheDuration']),
    auth: loginsOf(answer['auth']),
  };
}

/** JSON, or YAML as the kubelet takes it too; a key twice is an error in both. */
function parse(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true });
  try {
    if (document.errors.length === 0) return document.toJS();
  } catch {
    // Aliases without an end, or without a beginning.
  }
  throw new IsletError('corrupt', 'the answer is not valid JSON');
}

function durationOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms === undefined || ms < 0) throw wrong('cacheDuration', 'a duration such as "5m0s"');
  return ms;
}

function loginsOf(value: unknown): Map<string, Login> {
  if (value === undefined || value === null) return new Map();
  if (!isObject(value)) throw wrong('auth', 'an object');
  const entries = Object.entries(value).map(([key, entry]): [string, Login] => {
    const where = `auth[${JSON.stringify(key)}]`;
    const { username = '', password = '' } = fieldsOf(entry, where, ['username', 'password']);
    if (typeof username !== 'string') throw wrong(`${where}.username`, 'a string');
    if (typeof password !== 'string') throw wrong(`${where}.password`, 'a string');
    return [key, { username, password }];
  });
  return new Map(entries);
}

/** An object with no other fields than these. */
function fieldsOf(
  value: unknown,
  where: string,
  known: readonly string[],
): Record<string, unknown> {
  if (!isObject(value)) throw wrong(where, 'an object');
  // The name of an unknown field is not repeated: who mixes up names may have mixed up values.
  if (Object.keys(value).some((name) => !known.includes(name))) {
    throw wrong(where, `no other fields than ${known.join(', ')}`);
  }
  return value;
}

function wrong(where: string, expected: string): IsletError {
  const field = where === '' ? 'the answer' : `the answer's ${where}`;
  return new IsletError('corrupt', `${field}: expected ${expected}`);
}

function isCacheKeyType(value: unknown): value is CacheKeyType {
  return typeof value === 'string' && CACHE_KEY_TYPES.includes(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
