/**
 * Owns: pods and runtime facts for tests, as small as a test can say them.
 */
import type { Container, Pod, PodSpec } from '../../src/api/pod.ts';
import { Annotation } from '../../src/api/reasons.ts';
import type { SandboxStatus } from '../../src/cri/model.ts';
import { containerHash } from '../../src/runtime/hash.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../src/runtime/model.ts';

export function containerOf(name: string, more: Partial<Container> = {}): Container {
  return {
    name,
    image: 'docker.io/library/busybox:latest',
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    ...more,
  };
}

export function podOf(spec: Partial<PodSpec> = {}, uid = 'uid-1', name = 'web-edge1'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid },
    spec: {
      containers: [containerOf('app')],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      ...spec,
    },
    status: { phase: 'Pending' },
  };
}

export function sandboxOf(attempt = 0, more: Partial<SandboxStatus> = {}): SandboxStatus {
  return {
    id: `sandbox-${attempt}`,
    metadata: { name: 'web-edge1', namespace: 'default', uid: 'uid-1', attempt },
    state: 'ready',
    createdAt: BigInt(attempt + 1),
    ips: ['10.88.0.5'],
    networkMode: 'pod',
    labels: {},
    annotations: {},
    runtimeHandler: '',
    ...more,
  };
}

/** A record of `container`; `at` is its creation, in seconds. */
export function recordOf(
  container: Container,
  state: RuntimeContainerStatus['state'],
  more: Partial<RuntimeContainerStatus> & { at?: number } = {},
): RuntimeContainerStatus {
  const { at = 1, ...rest } = more;
  const ns = BigInt(at) * 1_000_000_000n;
  return {
    id: `${container.name}-${at}`,
    sandboxId: 'sandbox-0',
    name: container.name,
    attempt: 0,
    state,
    createdAt: ns,
    startedAt: state === 'created' ? 0n : ns,
    finishedAt: state === 'exited' ? ns : 0n,
    exitCode: 0,
    image: container.image ?? '',
    imageRef: 'sha256:1',
    imageId: 'sha256:1',
    reason: state === 'exited' ? 'Completed' : '',
    message: '',
    labels: {},
    annotations: {
      [Annotation.containerHash]: containerHash(container),
      [Annotation.restartCount]: '0',
    },
    mounts: [],
    logPath: '',
    ...rest,
  };
}

/** Records newest first, as the cache keeps them. */
export function runtimeOf(
  sandboxes: SandboxStatus[],
  containers: RuntimeContainerStatus[],
): RuntimePodStatus {
  return {
    uid: 'uid-1',
    name: 'web-edge1',
    namespace: 'default',
    ips: sandboxes[0]?.ips ?? [],
    sandboxes: [...sandboxes].sort((a, b) => b.metadata.attempt - a.metadata.attempt),
    containers: [...containers].sort((a, b) => Number(b.createdAt - a.createdAt)),
  };
}
