/**
 * Owns: requests for sandboxes and containers as small as a CRI test can say them.
 */
import type { ContainerConfig, NamespaceOptions, SandboxConfig } from '../../src/cri/model.ts';

const NAMESPACES: NamespaceOptions = {
  network: 'pod',
  pid: 'container',
  ipc: 'pod',
  userns: { mode: 'node' },
};

export function sandboxConfigOf(
  uid: string,
  name: string,
  more: Partial<SandboxConfig> = {},
): SandboxConfig {
  return {
    metadata: { name, namespace: 'default', uid, attempt: 0 },
    hostname: name,
    logDirectory: '',
    portMappings: [],
    labels: { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.pod.name': name },
    annotations: {},
    cgroupParent: '',
    sysctls: {},
    security: {
      namespaceOptions: NAMESPACES,
      privileged: false,
      supplementalGroups: [],
      seccomp: { type: 'runtime-default' },
    },
    ...more,
  };
}

export function containerConfigOf(
  uid: string,
  name: string,
  more: Partial<ContainerConfig> = {},
): ContainerConfig {
  return {
    name,
    attempt: 0,
    image: 'docker.io/library/busybox:latest',
    userSpecifiedImage: 'busybox',
    command: [],
    args: [],
    workingDir: '',
    envs: [],
    mounts: [],
    devices: [],
    labels: { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.container.name': name },
    annotations: {},
    logPath: '',
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: {},
    security: {
      namespaceOptions: NAMESPACES,
      privileged: false,
      readonlyRootfs: false,
      supplementalGroups: [],
      noNewPrivs: false,
      maskedPaths: [],
      readonlyPaths: [],
    },
    ...more,
  };
}
