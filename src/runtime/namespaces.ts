/**
 * Owns: which namespaces a pod shares with whom; the same for the sandbox and its containers
 * (spec cri-mapping.md §2.4).
 */
import type { Pod } from '../api/pod.ts';
import type { IdMapping, NamespaceOptions } from '../cri/model.ts';
import { ConfigError } from './config-error.ts';

/**
 * `userns` holds the pod's id mappings when the runtime can give it a user namespace.
 * @throws ConfigError when the pod must have one and none was given.
 */
export function namespaceOptions(
  pod: Pod,
  userns: readonly IdMapping[] | undefined,
  targetContainerId?: string,
): NamespaceOptions {
  const { spec } = pod;
  const options: NamespaceOptions = {
    network: spec.hostNetwork ? 'node' : 'pod',
    ipc: spec.hostIPC ? 'node' : 'pod',
    pid: spec.hostPID ? 'node' : spec.shareProcessNamespace ? 'pod' : 'container',
    userns: userNamespace(pod, userns),
  };
  if (targetContainerId !== undefined && options.pid === 'container') {
    options.pid = 'target';
    options.targetId = targetContainerId;
  }
  return options;
}

/** Whether the pod asks for ids of its own. */
export function wantsUserNamespace(pod: Pod): boolean {
  return pod.spec.hostUsers === false;
}

function userNamespace(
  pod: Pod,
  userns: readonly IdMapping[] | undefined,
): NonNullable<NamespaceOptions['userns']> {
  if (!wantsUserNamespace(pod)) return { mode: 'node' };
  if (!userns) throw noUserNamespaces('');
  return { mode: 'pod', uids: [...userns], gids: [...userns] };
}

/** `handler` '' is the runtime's default one. */
export function noUserNamespaces(handler: string): ConfigError {
  const who = handler === '' ? 'runtime' : `RuntimeClass handler "${handler}"`;
  return new ConfigError(
    `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`,
  );
}
