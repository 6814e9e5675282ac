/**
 * Owns: the little I/O around the sandbox config: the resolver file, read anew for every sandbox, and
 * telling what of it could not be kept; the pod's runtime handler and its ids.
 */
import { readFile } from 'node:fs/promises';
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget, podTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import type { RuntimeClass } from '../config/model.ts';
import type { IdMapping, SandboxConfig } from '../cri/model.ts';
import type { RuntimeFeatures } from './features.ts';
import { noUserNamespaces, wantsUserNamespace } from './namespaces.ts';
import type { NodeFacts } from './node-facts.ts';
import { runtimeHandler } from './runtime-class.ts';
import { sandboxConfig } from './sandbox-config.ts';
import type { UserNamespaces } from './user-namespaces.ts';

export interface SandboxBuilderDeps {
  readonly facts: NodeFacts;
  readonly events: EventRecorder;
  /** Where the pod's cgroup is, in the words of the cgroup driver. */
  readonly cgroupParent: (pod: Pod) => string;
  readonly runtimeClasses: readonly RuntimeClass[];
  readonly features: Pick<RuntimeFeatures, 'handler'>;
  readonly userNamespaces: Pick<UserNamespaces, 'mapping'>;
}

export class SandboxBuilder {
  readonly #deps: SandboxBuilderDeps;

  constructor(deps: SandboxBuilderDeps) {
    this.#deps = deps;
  }

  /** For RunPodSandbox. @throws ConfigError for a class that is not configured. */
  runtimeHandler(pod: Pod): string {
    return runtimeHandler(pod, this.#deps.runtimeClasses);
  }

  /**
   * `handler` is that of the sandbox; the pod's directory must exist.
   * @throws ConfigError when the manifest cannot be honoured on this node.
   */
  async build(pod: Pod, attempt: number, handler: string): Promise<SandboxConfig> {
    const { facts, events, cgroupParent } = this.#deps;
    const userns = await this.#userNamespace(pod, handler);
    const resolvConfText = facts.resolvConf === '' ? '' : await readFile(facts.resolvConf, 'utf8');
    const plan = sandboxConfig(pod, attempt, {
      facts,
      cgroupParent: cgroupParent(pod),
      resolvConfText,
      userns,
    });
    for (const { reason, message, nodeMessage } of plan.warnings) {
      events.event(podTarget(pod), 'Warning', reason, message);
      if (nodeMessage !== undefined) {
        events.event(nodeTarget(facts.nodeName), 'Warning', reason, nodeMessage);
      }
    }
    return plan.config;
  }

  /** Asked for at every build: a runtime that can no longer do it would run the pod as the host's root. */
  async #userNamespace(pod: Pod, handler: string): Promise<IdMapping[] | undefined> {
    if (!wantsUserNamespace(pod)) return undefined;
    const { userNamespaces } = await this.#deps.features.handler(handler);
    if (!userNamespaces) throw noUserNamespaces(handler);
    return this.#deps.userNamespaces.mapping(pod.metadata.uid);
  }
}
