/**
 * Owns: the range of ids that an administrator set aside for pods: the subordinate ids of the user
 * `kubelet`, where there is such a user and `getsubids` (spec cri-mapping.md §2.4).
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { IsletError, messageOf } from '../util/errors.ts';
import type { IdRange } from './user-namespaces.ts';

/** Runs `getsubids` with these arguments; rejects with code ENOENT when it is not installed. */
export type GetSubIds = (args: readonly string[]) => Promise<string>;

const USER = 'kubelet';
const run = promisify(execFile);

export const systemSubIds: GetSubIds = async (args) => (await run('getsubids', [...args])).stdout;

/**
 * undefined: nothing was set aside.
 * @throws IsletError `invalid` when users and groups differ or the range is not one.
 */
export async function subordinateIds(
  passwdFile = '/etc/passwd',
  getSubIds: GetSubIds = systemSubIds,
): Promise<IdRange | undefined> {
  const passwd = await readFile(passwdFile, 'utf8').catch(() => '');
  if (!passwd.split('\n').some((line) => line.startsWith(`${USER}:`))) return undefined;
  let users: string;
  let groups: string;
  try {
    users = await getSubIds([USER]);
    groups = await getSubIds(['-g', USER]);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new IsletError('failed', `getsubids ${USER}: ${messageOf(cause)}`, { cause });
  }
  const range = rangeOf(users);
  if (range && users === groups) return range;
  throw new IsletError(
    'invalid',
    `the subordinate ids of user ${USER} cannot be used: expected one range, the same for users and ` +
      `groups, found ${JSON.stringify(users.trim())} and ${JSON.stringify(groups.trim())}`,
  );
}

/** `0: kubelet 65536 2147483648`. */
function rangeOf(text: string): IdRange | undefined {
  const match = /^\d+: \S+ (\d+) (\d+)\s*$/.exec(text);
  return match ? { start: Number(match[1]), length: Number(match[2]) } : undefined;
}
