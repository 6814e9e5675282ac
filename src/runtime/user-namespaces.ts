/**
 * Owns: which range of host ids belongs to which pod with `hostUsers: false` (spec cri-mapping.md §2.4).
 *
 *   0            idsPerPod                                              2^32
 *   |  the host  | slot 0 | slot 1 | slot 2 | …  one slot of idsPerPod each |
 *
 * Invariants: the state is the files `<podDir>/userns`: a range is a pod's for as long as its directory
 * is there, over every restart of the agent; two pods never share a range; one allocation at a time.
 * Leaves to others: whether the runtime can (features.ts), removing the directory (volume/).
 */
import { readFile, readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { IdMapping } from '../cri/model.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import { podDir, podsDir } from '../volume/paths.ts';

/** Host ids that pods may have. */
export interface IdRange {
  readonly start: number;
  readonly length: number;
}

export interface UserNamespacesDeps {
  readonly rootDir: string;
  readonly idsPerPod: number;
  /** What the node sets aside for pods; undefined: all but the first slot. */
  readonly configuredRange: () => Promise<IdRange | undefined>;
}

const FILE = 'userns';
const ALL_IDS = 2 ** 32;

export class UserNamespaces {
  readonly #deps: UserNamespacesDeps;
  #range: IdRange | undefined;
  #busy: Promise<unknown> = Promise.resolve();

  constructor(deps: UserNamespacesDeps) {
    this.#deps = deps;
  }

  /**
   * The pod's mapping, the same for users and groups: the one that it has, or the first free range.
   * The pod's directory must exist.
   * @throws IsletError `corrupt` for a file that cannot be understood, `failed` when no range is free.
   */
  mapping(uid: string): Promise<IdMapping[]> {
    const result = this.#busy.then(() => this.#mapping(uid));
    this.#busy = result.catch(() => undefined);
    return result;
  }

  async #mapping(uid: string): Promise<IdMapping[]> {
    const { idsPerPod, rootDir } = this.#deps;
    const kept = await readMapping(this.#file(uid));
    if (kept) return [kept];
    const range = (this.#range ??= await this.#findRange());
    const taken = await this.#taken();
    const slots = Math.floor(range.length / idsPerPod);
    for (let slot = 0; slot < slots; slot += 1) {
      const hostId = range.start + slot * idsPerPod;
      if (taken.some((other) => overlaps(other, { start: hostId, length: idsPerPod }))) continue;
      const mapping = { hostId, containerId: 0, length: idsPerPod };
      await writeMapping(path.join(podDir(rootDir, uid), FILE), mapping);
      return [mapping];
    }
    throw new IsletError(
      'failed',
      `could not find an empty slot to allocate a user namespace: this node has ${slots} of ` +
        `${idsPerPod} ids from ${range.start} on, and pods have them all`,
    );
  }

  async #findRange(): Promise<IdRange> {
    const { idsPerPod, configuredRange } = this.#deps;
    const configured = await configuredRange();
    if (!configured) return { start: idsPerPod, length: ALL_IDS - idsPerPod };
    const { start, length } = configured;
    if (start < idsPerPod || start % idsPerPod !== 0 || length < idsPerPod) {
      throw new IsletError(
        'invalid',
        `the ids of user kubelet, ${length} from ${start} on, cannot be used: ` +
          `expected at least ${idsPerPod}, beginning at a multiple of ${idsPerPod}`,
      );
    }
    return configured;
  }

  /** A file that cannot be read says nothing of its range, so no new range is safe. */
  async #taken(): Promise<IdRange[]> {
    const uids = await readdir(podsDir(this.#deps.rootDir));
    const found = await Promise.all(uids.map((uid) => readMapping(this.#file(uid))));
    return found.flatMap((one) => (one ? [{ start: one.hostId, length: one.length }] : []));
  }

  #file(uid: string): string {
    return path.join(podDir(this.#deps.rootDir, uid), FILE);
  }
}

function overlaps(a: IdRange, b: IdRange): boolean {
  return a.start < b.start + b.length && b.start < a.start + a.length;
}

async function readMapping(file: string): Promise<IdMapping | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new IsletError('failed', `cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
  const mapping = parseMapping(text);
  if (mapping) return mapping;
  const what = 'expected one uidMapping and the same gidMapping from container id 0 on';
  throw new IsletError('corrupt', `${file} holds no user namespace: ${what}`);
}

function parseMapping(text: string): IdMapping | undefined {
  try {
    const { uidMappings, gidMappings } = JSON.parse(text) as Record<string, IdMapping[]>;
    const [first, ...more] = uidMappings ?? [];
    if (!first || more.length > 0 || JSON.stringify(uidMappings) !== JSON.stringify(gidMappings)) {
      return undefined;
    }
    const { hostId, containerId, length } = first;
    const whole = [hostId, length].every((n) => Number.isInteger(n) && n > 0);
    return whole && containerId === 0 ? { hostId, containerId, length } : undefined;
  } catch {
    return undefined;
  }
}

/** In the kubelet's form. Whole or not at all: half a file would hide a range that is in use. */
async function writeMapping(file: string, mapping: IdMapping): Promise<void> {
  const text = JSON.stringify({ uidMappings: [mapping], gidMappings: [mapping] });
  await writeFile(`${file}.new`, text, { mode: 0o644, flush: true });
  await rename(`${file}.new`, file);
}
