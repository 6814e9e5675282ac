/**
 * Owns: the last status of each pod and whether it has finished, so that start and transition times
 * survive an agent restart and a completed pod does not run again.
 * Unlike the kubelet: a finished Never/OnFailure pod is known as such even when its dead containers are
 * gone from the runtime (spec: static-pods.md §9).
 */
import type { PodStatus } from '../api/status.ts';
import { MirroredTable, type TableSpec } from './table.ts';
import type { WriteBehind } from './write-behind.ts';

/** How a pod ended that is not to run again. */
export type PodResult = 'Succeeded' | 'Failed';

export interface PodRecord {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly status: PodStatus;
  /** Set once the pod has ended for good. */
  readonly finished?: PodResult | undefined;
}

interface Row {
  readonly namespace: string;
  readonly name: string;
  /** JSON: smaller than the object, and what tells whether anything changed. */
  readonly status: string;
  readonly finished: PodResult | undefined;
}

const SPEC: TableSpec<Row> = {
  select: 'SELECT uid, namespace, name, status, finished FROM pod',
  upsert: `INSERT INTO pod (uid, namespace, name, status, finished) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (uid) DO UPDATE SET namespace = excluded.namespace, name = excluded.name,
             status = excluded.status, finished = excluded.finished`,
  remove: 'DELETE FROM pod WHERE uid = ?',
  fromRow: (row) => {
    const finished = row['finished'];
    return [
      String(row['uid']),
      {
        namespace: String(row['namespace']),
        name: String(row['name']),
        status: String(row['status']),
        finished: finished === 'Succeeded' || finished === 'Failed' ? finished : undefined,
      },
    ];
  },
  toParams: (uid, row) => [uid, row.namespace, row.name, row.status, row.finished ?? null],
  toKeyParams: (uid) => [uid],
};

export class PodRecords {
  readonly #table = new MirroredTable(SPEC);
  readonly #store: WriteBehind;

  constructor(store: WriteBehind) {
    this.#store = store;
    store.add(this.#table);
  }

  /**
   * Nothing is written when nothing changed; a new `finished` is on disk at the return, and so is a
   * restart: a count that was shown once must not go back because the agent was killed.
   */
  put(pod: PodRecord): void {
    const old = this.#table.get(pod.uid);
    const row: Row = {
      namespace: pod.namespace,
      name: pod.name,
      status: JSON.stringify(pod.status),
      finished: pod.finished,
    };
    const finishedNow = old?.finished !== row.finished;
    if (old && !finishedNow && old.status === row.status && old.name === row.name) return;
    this.#table.set(pod.uid, row);
    const restarted = old && restartsIn(pod.status) > restartsIn(parseStatus(old.status));
    this.#store.touch(finishedNow ? 'now' : restarted ? 'prompt' : 'soon');
  }

  get(uid: string): PodRecord | undefined {
    const row = this.#table.get(uid);
    return row && { ...row, uid, status: parseStatus(row.status) };
  }

  finished(uid: string): PodResult | undefined {
    return this.#table.get(uid)?.finished;
  }

  uids(): string[] {
    return [...this.#table.entries()].map(([uid]) => uid);
  }

  all(): PodRecord[] {
    return [...this.#table.entries()].map(([uid, row]) => ({
      ...row,
      uid,
      status: parseStatus(row.status),
    }));
  }

  delete(uid: string): void {
    if (this.#table.delete(uid)) this.#store.touch('soon');
  }
}

function restartsIn({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): number {
  const all = [...initContainerStatuses, ...containerStatuses];
  return all.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** A status is only a base for the next one: one that cannot be read counts as none. */
function parseStatus(json: string): PodStatus {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
