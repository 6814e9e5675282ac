/**
 * Owns: small pods and runtime records for the tests of status/.
 */
import { Annotation } from '../../../src/api/reasons.ts';
import type { Container, Pod, PodSpec } from '../../../src/api/pod.ts';
import type { PodStatus } from '../../../src/api/status.ts';
import type { SandboxStatus } from '../../../src/cri/model.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../src/runtime/model.ts';
import type { StatusInput } from '../../../src/status/input.ts';

export const NOW = Date.parse('2025-03-01T12:00:00.700Z');
export const NOW_TEXT = '2025-03-01T12:00:00Z';
export const STARTED = 1_740_830_000_123_456_789n;
export const STARTED_TEXT = '2025-03-01T11:53:20Z';

export function container(name: string, more: Partial<Container> = {}): Container {
  return {
    name,
    image: 'busybox',
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    ...more,
  };
}

export function pod(spec: Partial<PodSpec> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p-node',
      namespace: 'default',
      uid: 'u1',
      annotations: { [Annotation.configSource]: 'file' },
    },
    spec: {
      containers: [container('app')],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      ...spec,
    },
    status: {},
  };
}

export function record(
  name: string,
  state: RuntimeContainerStatus['state'],
  more: Partial<RuntimeContainerStatus> = {},
): RuntimeContainerStatus {
  return {
    id: `${name}-0`,
    sandboxId: 's0',
    name,
    attempt: 0,
    state,
    createdAt: STARTED,
    startedAt: state === 'created' ? 0n : STARTED,
    finishedAt: state === 'exited' ? STARTED + 60_000_000_000n : 0n,
    exitCode: 0,
    image: 'docker.io/library/busybox:latest',
    imageRef: 'sha256:ref',
    imageId: 'sha256:id',
    reason: '',
    message: '',
    labels: {},
    annotations: {},
    mounts: [],
    logPath: '',
    ...more,
  };
}

/** An ended run; `restartCount` as the annotation has it. */
export function exited(
  name: string,
  exitCode: number,
  restartCount = 0,
  more: Partial<RuntimeContainerStatus> = {},
): RuntimeContainerStatus {
  return record(name, 'exited', {
    id: `${name}-${restartCount}`,
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    annotations: { [Annotation.restartCount]: String(restartCount) },
    ...more,
  });
}

export function sandbox(more: Partial<SandboxStatus> = {}): SandboxStatus {
  return {
    id: 's0',
    metadata: { name: 'p-node', namespace: 'default', uid: 'u1', attempt: 0 },
    state: 'ready',
    createdAt: STARTED,
    ips: ['10.88.0.5'],
    networkMode: 'pod',
    labels: {},
    annotations: {},
    runtimeHandler: '',
    ...more,
  };
}

export function runtime(
  containers: RuntimeContainerStatus[],
  sandboxes: SandboxStatus[] = [sandbox()],
): RuntimePodStatus {
  const ips = sandboxes[0]?.ips ?? [];
  return { uid: 'u1', name: 'p-node', namespace: 'default', ips, sandboxes, containers };
}

export function input(more: Partial<StatusInput> = {}): StatusInput {
  return {
    pod: pod(),
    runtime: runtime([]),
    previous: {},
    reasons: new Map(),
    probes: { started: () => undefined, ready: () => undefined },
    restartCounts: new Map(),
    missingObjects: [],
    nodeIps: ['192.0.2.10'],
    nowMs: NOW,
    terminal: false,
    terminationMessage: () => undefined,
    runtimeName: 'containerd',
    ...more,
  };
}

export function condition(
  status: PodStatus,
  type: string,
): NonNullable<PodStatus['conditions']>[number] {
  const found = status.conditions?.find((c) => c.type === type);
  if (found === undefined) throw new Error(`no condition ${type}`);
  return found;
}
