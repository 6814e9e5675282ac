/**
 * Owns: the content that each file's pods come from, in memory and in the store.
 * Invariants: what was taken stays until newer content is taken or the file is deleted, also over an
 * agent restart; a pod that new content leaves as it was stays the same object; `config.seen` is
 * stamped once a uid and kept over a restart (spec: static-pods.md §3, step 11); the store gets no value
 * of a Secret, so over a restart with a broken file its Secrets are missing and its pods are not.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import {
  type Candidate,
  type CandidatePod,
  type ConfigDocument,
  type Load,
  toCandidate,
} from './candidate.ts';
import type { SecretDocument } from './model.ts';
import { withholdSecrets } from './secret-file.ts';

export interface Good {
  readonly digest: string;
  readonly pods: readonly CandidatePod[];
  readonly objects: readonly ConfigDocument[];
  /** Secrets of an earlier run whose values nobody kept. */
  readonly withheld: readonly SecretDocument[];
  readonly warnings: readonly string[];
}

/** What the file source keeps over a restart; the store has it. */
export interface ManifestStore {
  readonly lastGood: {
    put(manifest: { file: string; digest: string; content: Uint8Array; seenAt: number }): void;
    get(file: string): { readonly digest: string; readonly content: Uint8Array } | undefined;
    all(): readonly { readonly file: string; readonly digest: string }[];
    delete(file: string): void;
  };
  readonly firstSeen: {
    /** Wall milliseconds. */
    get(uid: string): number | undefined;
    put(uid: string, wallMs: number): void;
    uids(): readonly string[];
    delete(uid: string): void;
  };
}

export interface LastGoodDeps {
  readonly store: ManifestStore;
  readonly load: Load;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class LastGood {
  readonly #deps: LastGoodDeps;

  constructor(deps: LastGoodDeps) {
    this.#deps = deps;
  }

  /** Digests by file, as an earlier run of the agent left them. */
  stored(): Map<string, string> {
    return new Map(this.#deps.store.lastGood.all().map(({ file, digest }) => [file, digest]));
  }

  /** What an earlier run took from `file`; undefined when there is nothing that still counts. */
  restore(file: string): Good | undefined {
    const { store, load, nodeName, logger } = this.#deps;
    const stored = store.lastGood.get(file);
    if (!stored) return undefined;
    const { digest, content } = stored;
    const candidate = toCandidate(load, nodeName, { file, digest, content });
    if (candidate.kind === 'valid') {
      const withheld = candidate.objects.filter((document) => document.kind === 'Secret');
      const objects = candidate.objects.filter((document) => document.kind !== 'Secret');
      return { ...this.#toGood(candidate, undefined), objects, withheld };
    }
    logger.warn('the last good content of a manifest no longer counts', {
      file,
      why: candidate.messages,
    });
    return undefined;
  }

  /** Takes new content; `previous` is what the file provided so far. */
  take(
    file: string,
    candidate: Extract<Candidate, { kind: 'valid' }>,
    previous: Good | undefined,
  ): Good {
    const { store, clock } = this.#deps;
    const good = this.#toGood(candidate, previous);
    if (candidate.content) {
      const { digest, objects } = candidate;
      const content = withholdSecrets(candidate.content, objects);
      store.lastGood.put({ file, digest, content, seenAt: clock.wall() });
      candidate.content = undefined;
    }
    return good;
  }

  /** The file was deleted. */
  forget(file: string): void {
    this.#deps.store.lastGood.delete(file);
  }

  /** Drops the stamps of all pods but these. */
  keepStamps(uids: ReadonlySet<string>): void {
    const { firstSeen } = this.#deps.store;
    for (const uid of firstSeen.uids()) if (!uids.has(uid)) firstSeen.delete(uid);
  }

  #toGood(candidate: Extract<Candidate, { kind: 'valid' }>, previous: Good | undefined): Good {
    const before = new Map(previous?.pods.map(({ pod }) => [pod.metadata.uid, pod]));
    const pods = candidate.pods.map(({ pod, warnings }) => {
      this.#stamp(pod);
      const old = before.get(pod.metadata.uid);
      return { pod: old && isDeepStrictEqual(old, pod) ? old : pod, warnings };
    });
    const { digest, objects, warnings } = candidate;
    return { digest, pods, objects, withheld: [], warnings };
  }

  #stamp(pod: Pod): void {
    const { store, clock } = this.#deps;
    const { uid } = pod.metadata;
    let seen = store.firstSeen.get(uid);
    if (seen === undefined) {
      seen = Math.round(clock.wall());
      store.firstSeen.put(uid, seen);
    }
    pod.metadata.annotations = {
      ...pod.metadata.annotations,
      [Annotation.configSeen]: nanosecondStamp(seen),
    };
  }
}

/** RFC 3339 with nine digits of a second, as the annotation has it. */
function nanosecondStamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000000Z');
}
