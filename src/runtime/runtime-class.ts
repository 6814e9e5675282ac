/**
 * Owns: RuntimeClasses: which handler of the runtime a pod's `runtimeClassName` stands for, and what
 * such a sandbox costs (spec cri-mapping.md §2). Pure.
 * Unlike the kubelet: which asks an API server and without one crashes on such a pod, islet has the classes
 * in its configuration (`runtimeClasses`).
 */
import type { Pod } from '../api/pod.ts';
import type { RuntimeClass } from '../config/model.ts';
import { ConfigError } from './config-error.ts';

/**
 * The handler for RunPodSandbox; '' is the runtime's default.
 * @throws ConfigError that names the class and those that there are.
 */
export function runtimeHandler(pod: Pod, classes: readonly RuntimeClass[]): string {
  const name = pod.spec.runtimeClassName;
  if (!name) return '';
  const found = classes.find((one) => one.name === name);
  if (found) return found.handler;
  const known = classes.map((one) => one.name).join(', ') || 'none';
  throw new ConfigError(
    `RuntimeClass "${name}" not found: runtimeClasses of the IsletConfiguration has ${known}`,
  );
}

/** The pod with the overhead of its class, unless it brings its own; as the API server's admission does. */
export function withOverhead(pod: Pod, classes: readonly RuntimeClass[]): Pod {
  const name = pod.spec.runtimeClassName;
  const overhead = classes.find((one) => one.name === name)?.overhead?.podFixed;
  if (!name || !overhead || pod.spec.overhead) return pod;
  return { ...pod, spec: { ...pod.spec, overhead: { ...overhead } } };
}
