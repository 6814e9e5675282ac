/**
 * Owns: the little I/O around the sandbox config: reading the resolver file anew for every sandbox and
 * telling what of it could not be kept.
 */
import { readFile } from 'node:fs/promises';
import type { EventRecorder } from '../api/event.ts';
import { nodeTarget, podTarget } from '../api/event.ts';
import type { Pod } from '../api/pod.ts';
import type { SandboxConfig } from '../cri/model.ts';
import type { NodeFacts } from './node-facts.ts';
import { sandboxConfig } from './sandbox-config.ts';

export interface SandboxBuilderDeps {
  readonly facts: NodeFacts;
  readonly events: EventRecorder;
  /** Where the pod's cgroup is, in the words of the cgroup driver. */
  readonly cgroupParent: (pod: Pod) => string;
}

export class SandboxBuilder {
  readonly #deps: SandboxBuilderDeps;

  constructor(deps: SandboxBuilderDeps) {
    this.#deps = deps;
  }

  async build(pod: Pod, attempt: number): Promise<SandboxConfig> {
    const { facts, events, cgroupParent } = this.#deps;
    const resolvConfText = facts.resolvConf === '' ? '' : await readFile(facts.resolvConf, 'utf8');
    const plan = sandboxConfig(pod, attempt, {
      facts,
      cgroupParent: cgroupParent(pod),
      resolvConfText,
    });
    for (const { reason, message, nodeMessage } of plan.warnings) {
      events.event(podTarget(pod), 'Warning', reason, message);
      if (nodeMessage !== undefined) {
        events.event(nodeTarget(facts.nodeName), 'Warning', reason, nodeMessage);
      }
    }
    return plan.config;
  }
}
