/**
 * Owns: the results that count now, by kind and container id.
 * Invariant: there is no entry for a container that no worker watches.
 */
import type { ProbeKind } from './model.ts';

export class ProbeResultTable {
  readonly #byKind: Readonly<Record<ProbeKind, Map<string, boolean>>> = {
    startup: new Map(),
    readiness: new Map(),
    liveness: new Map(),
  };

  get(kind: ProbeKind, containerId: string): boolean | undefined {
    return this.#byKind[kind].get(containerId);
  }

  /** undefined forgets. Returns whether that changed anything. */
  set(kind: ProbeKind, containerId: string, result: boolean | undefined): boolean {
    const results = this.#byKind[kind];
    if (result === undefined) return results.delete(containerId);
    if (results.get(containerId) === result) return false;
    results.set(containerId, result);
    return true;
  }
}
