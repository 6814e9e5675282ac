/**
 * Owns: in which order the containers of a pod that ends are stopped (spec: pod-lifecycle.md §9.3).
 */
import type { Pod } from '../api/pod.ts';
import { isSidecar } from '../api/pod.ts';
import type { Clock } from '../util/clock.ts';
import type { RuntimeContainerStatus } from './model.ts';

/** Sidecars end in reverse order, after the regular containers (spec §9.3). */
export class TerminationOrder {
  readonly #before = new Map<string, string[]>();
  readonly #ended = new Map<string, { promise: Promise<void>; resolve: () => void }>();

  constructor(pod: Pod | undefined, alive: readonly RuntimeContainerStatus[]) {
    for (const { name } of alive) {
      let resolve = (): void => undefined;
      const promise = new Promise<void>((done) => (resolve = done));
      this.#ended.set(name, { promise, resolve });
    }
    const sidecars = (pod?.spec.initContainers ?? []).filter(isSidecar).map((c) => c.name);
    const regular = pod?.spec.containers.map((c) => c.name) ?? [];
    sidecars.forEach((name, i) => {
      const later = sidecars[i + 1];
      this.#before.set(name, later === undefined ? regular : [...regular, later]);
    });
  }

  ended(name: string): void {
    this.#ended.get(name)?.resolve();
  }

  async turnOf(
    name: string,
    graceSeconds: number,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<void> {
    const waitFor = (this.#before.get(name) ?? []).flatMap(
      (n) => this.#ended.get(n)?.promise ?? [],
    );
    if (waitFor.length === 0 || graceSeconds <= 0) return;
    const timer = new AbortController();
    const stop = (): void => timer.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const timeout = clock.sleep(graceSeconds * 1000, timer.signal).catch(() => undefined);
    await Promise.race([Promise.all(waitFor), timeout]);
    signal.removeEventListener('abort', stop);
    timer.abort(new Error('it is its turn'));
  }
}
