/**
 * Owns: env files: text in a volume that fileKeyRef takes variables from. Every value stands in single
 * quotes, may span lines and is taken as it is; `#` lines and empty lines do not count.
 * Invariant: a file is never read from outside its volume, whatever links a container put there.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { EnvVarSource } from '../api/pod.ts';
import { ConfigError } from './config-error.ts';
import type { MountedVolume } from '../volume/model.ts';

/** Text of `file` (relative) below `root`; throws when it cannot be read. */
export type EnvFileReader = (root: string, file: string) => string;

type FileKeyRef = NonNullable<EnvVarSource['fileKeyRef']>;

/** A config file, not data: what is bigger is refused. */
const MAX_BYTES = 1 << 20;
/** The kubelet's whole message for any trouble with the file. */
const UNREADABLE = "couldn't parse env file";

/**
 * undefined: the key is absent (or empty) and optional.
 * @throws ConfigError with the kubelet's texts.
 */
export function envFileValue(
  ref: FileKeyRef,
  volumes: ReadonlyMap<string, MountedVolume>,
  read: EnvFileReader | undefined,
): string | undefined {
  const volume = volumes.get(ref.volumeName);
  if (volume?.kind !== 'path') {
    throw new ConfigError(
      `cannot find the volume ${JSON.stringify(ref.volumeName)} referenced by FileKeyRef`,
    );
  }
  if (!read) throw new ConfigError(UNREADABLE);
  let vars: ReadonlyMap<string, string> | undefined;
  try {
    vars = parseEnvFile(read(volume.hostPath, ref.path));
  } catch {
    // The status names the container; the file's content must not end up there.
  }
  if (!vars) throw new ConfigError(UNREADABLE);
  const value = vars.get(ref.key) ?? '';
  if (value !== '') return value;
  if (ref.optional) return undefined;
  throw new ConfigError(
    `environment variable key ${JSON.stringify(ref.key)} not found in file ${JSON.stringify(ref.path)}`,
  );
}

/** undefined when any part of the text is not of the form `NAME='value'`. */
export function parseEnvFile(text: string): Map<string, string> | undefined {
  const vars = new Map<string, string>();
  const entry =
    /[ \t]*(?:(?:#[^\n]*)?(?:\r?\n|$)|([^=\s']+)='([^']*)'[ \t]*(?:#[^\n]*)?(?:\r?\n|$))/y;
  while (entry.lastIndex < text.length) {
    const match = entry.exec(text);
    if (!match) return undefined;
    if (match[1] !== undefined) vars.set(match[1], match[2] ?? '');
  }
  return vars;
}

/** The reader for real volumes: follows links only inside `root`. */
export function readEnvFileBelow(root: string, file: string): string {
  const top = fs.realpathSync(root);
  const real = fs.realpathSync(path.join(top, path.join('/', file)));
  const handle = fs.openSync(
    real,
    fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK,
  );
  try {
    // What was opened is judged, not the path: a container may swap a directory for a link in between.
    if (!fs.readlinkSync(`/proc/self/fd/${handle}`).startsWith(`${top}/`))
      throw new Error('outside of the volume');
    const stat = fs.fstatSync(handle);
    if (!stat.isFile() || stat.size > MAX_BYTES) throw new Error('not a small file');
    return fs.readFileSync(handle, 'utf8');
  } finally {
    fs.closeSync(handle);
  }
}
