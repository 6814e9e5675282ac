/**
 * Owns: background work of one owner: started under one AbortSignal, awaited at the stop.
 * Invariant: an error in one task is reported once and ends nothing else; after `stop()` resolves no
 * task of the group runs any more.
 */
import { setMaxListeners } from 'node:events';

export interface TaskGroupDeps {
  /** Told about a task that failed for another reason than the stop. */
  readonly onError: (name: string, error: unknown) => void;
}

export class TaskGroup {
  readonly #deps: TaskGroupDeps;
  readonly #controller = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: TaskGroupDeps) {
    this.#deps = deps;
    setMaxListeners(0, this.#controller.signal); // one for each task that waits: no leak
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  spawn(name: string, task: (signal: AbortSignal) => Promise<void>): void {
    const running = task(this.signal)
      .catch((error: unknown) => {
        if (!this.signal.aborted) this.#deps.onError(name, error);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async stop(): Promise<void> {
    this.#controller.abort(new Error('stopping'));
    await Promise.all(this.#running);
  }
}
