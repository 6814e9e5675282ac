/**
 * Owns: what the runtime can do beyond the least (its answer to Status), kept from the newest answer.
 * Invariant: a runtime that did not say that it can do something cannot; one that was never asked is
 * asked before anybody relies on its answer.
 * Leaves to others: what follows for a pod (mounts.ts, sandbox-builder.ts, pod/admission.ts).
 */
import type { HandlerFeatures, RuntimeService, RuntimeStatus } from '../cri/model.ts';

export const NO_FEATURES: HandlerFeatures = {
  recursiveReadOnlyMounts: false,
  userNamespaces: false,
};

export class RuntimeFeatures {
  readonly #runtime: Pick<RuntimeService, 'status'>;
  #newest: RuntimeStatus | undefined;

  constructor(runtime: Pick<RuntimeService, 'status'>) {
    this.#runtime = runtime;
  }

  /** Asks the runtime and remembers what it says. Rejects as the call does. */
  async status(signal?: AbortSignal): Promise<RuntimeStatus> {
    this.#newest = await this.#runtime.status(signal);
    return this.#newest;
  }

  /** Whether the groups of a container can be limited to the manifest's; false until it has said so. */
  get supplementalGroupsPolicy(): boolean {
    return this.#newest?.supplementalGroupsPolicy ?? false;
  }

  /** Of a handler by name; '' is the default one. Asks only when there was no answer yet. */
  async handler(name: string, signal?: AbortSignal): Promise<HandlerFeatures> {
    const { handlers } = this.#newest ?? (await this.status(signal));
    return handlers.get(name) ?? NO_FEATURES;
  }
}
