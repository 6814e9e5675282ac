/**
 * Owns: the last words of ended containers (spec: pod-lifecycle.md §12.4), read once per container id.
 * Invariants: only ids that the runtime still has records of are kept, so memory follows the runtime;
 * a message that cannot be read costs a pod nothing but the message.
 * Leaves to others: joining it with the runtime's message and cutting it (container-state.ts).
 */
import { Annotation } from '../api/reasons.ts';
import { tailFile, tailLog } from '../log/tail.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../runtime/model.ts';
import { codeOf, messageOf } from '../util/errors.ts';

const FILE_BYTES = 4096;
const LOG_LINES = 80;
const LOG_BYTES = 2048;
/** The newest record and the one before: more are not shown. */
const SHOWN_RUNS = 2;

export type TerminationMessageOf = (container: RuntimeContainerStatus) => string | undefined;

export class TerminationMessages {
  /** By pod uid, then by container id. */
  readonly #known = new Map<string, ReadonlyMap<string, string>>();

  /** Reads what is new in `runtime` and returns the look-up for generating this pod's status. */
  async load(runtime: RuntimePodStatus): Promise<TerminationMessageOf> {
    const before = this.#known.get(runtime.uid);
    const messages = new Map<string, string>();
    for (const record of shownExits(runtime)) {
      messages.set(record.id, before?.get(record.id) ?? (await readTerminationMessage(record)));
    }
    if (messages.size === 0) this.#known.delete(runtime.uid);
    else this.#known.set(runtime.uid, messages);
    return (record) => messages.get(record.id);
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

function shownExits(runtime: RuntimePodStatus): RuntimeContainerStatus[] {
  const runs = new Map<string, number>();
  return runtime.containers.filter((record) => {
    const nth = (runs.get(record.name) ?? 0) + 1;
    runs.set(record.name, nth);
    return nth <= SHOWN_RUNS && record.state === 'exited';
  });
}

/**
 * The file that the container was given for it; when that is empty, the policy is
 * `FallbackToLogsOnError` and the container failed, the end of its log. '' when there is neither.
 */
export async function readTerminationMessage(record: RuntimeContainerStatus): Promise<string> {
  const path = record.annotations[Annotation.terminationMessagePath];
  const host = record.mounts.find((m) => m.containerPath === path)?.hostPath;
  if (host !== undefined) {
    const message = await readFileEnd(host);
    if (message !== '') return message;
  }
  return fallsBackToLog(record) ? readLogEnd(record.logPath) : '';
}

function fallsBackToLog(record: RuntimeContainerStatus): boolean {
  return (
    record.annotations[Annotation.terminationMessagePolicy] === 'FallbackToLogsOnError' &&
    record.exitCode !== 0 &&
    record.reason !== 'ContainerCannotRun' &&
    record.logPath !== ''
  );
}

async function readFileEnd(path: string): Promise<string> {
  try {
    return await tailFile(path, { bytes: FILE_BYTES });
  } catch (error) {
    if (codeOf(error) === 'not-found') return '';
    return `Error on reading termination log ${path}: ${messageOf(error)}`;
  }
}

async function readLogEnd(path: string): Promise<string> {
  try {
    return await tailLog(path, { lines: LOG_LINES, bytes: LOG_BYTES });
  } catch (error) {
    if (codeOf(error) === 'not-found') return '';
    return `Error on reading termination message from logs: ${messageOf(error)}`;
  }
}
