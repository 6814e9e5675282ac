/**
 * Owns: manifests as small as an end-to-end test can say them, and what is asked of their pods most.
 */
import assert from 'node:assert/strict';
import type { Pod } from '../../src/api/pod.ts';
import type { ContainerStatus } from '../../src/api/status.ts';
import { until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';

/** Runs until SIGTERM, and ends at once then. */
export const LOOP = 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';

export interface PodManifest {
  apiVersion: 'v1';
  kind: 'Pod';
  metadata: { name: string; namespace: string; [more: string]: unknown };
  spec: { containers: object[]; [more: string]: unknown };
}

/** A container `main` that runs a shell script. */
export function shell(script: string, more: object = {}): object {
  const image = 'docker.io/library/busybox:latest';
  const command = ['sh', '-c', script];
  return { name: 'main', image, imagePullPolicy: 'IfNotPresent', command, ...more };
}

export function manifest(name: string, containers: object | object[], spec = {}): PodManifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { terminationGracePeriodSeconds: 2, ...spec, containers: [containers].flat() },
  };
}

/** Resolves when the pod does as `holds` says, with the pod. */
export function podThat(
  agent: TestAgent,
  name: string,
  what: string,
  holds: (pod: Pod) => boolean,
): Promise<Pod> {
  let last: Pod | undefined;
  return until(`pod ${name} ${what}`, async () => {
    last = await agent.pod(name);
    if (last && holds(last)) return last;
    throw new Error(`it is ${JSON.stringify(last?.status)}`);
  });
}

export function running(agent: TestAgent, name: string): Promise<Pod> {
  return podThat(agent, name, 'is ready', (pod) => {
    const ready = pod.status.conditions?.find((c) => c.type === 'Ready');
    return pod.status.phase === 'Running' && ready?.status === 'True';
  });
}

export function statusOf(pod: Pod | undefined, container = 'main'): ContainerStatus {
  const found = pod?.status.containerStatuses?.find((one) => one.name === container);
  assert.ok(found, `${pod?.metadata.name} has no status for ${container}`);
  return found;
}

/** What must stay the same of a pod that nobody may hurt. */
export function identity(pod: Pod | undefined, container = 'main'): object {
  const { containerID, restartCount } = statusOf(pod, container);
  const { uid, deletionTimestamp } = pod?.metadata ?? {};
  return { uid, containerID, restartCount, deletionTimestamp };
}
