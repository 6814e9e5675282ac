/**
 * Owns: what RunPodSandbox is asked for, from model.ts to the protocol (spec: cri-mapping.md §2), and
 * the values that sandboxes and containers share. Containers are in convert-container.ts, answers in
 * convert-answer.ts.
 *
 * An optional field of the model that is absent stays off the wire; a message that is there stays
 * there, even when all its values are zero: `run_as_user: {}` is root, without it the image decides.
 */
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { GROUPS_POLICY, NAMESPACE_MODE, PROFILE_TYPE, PROTOCOL } from './enums.ts';
import {
  LinuxContainerResourcesSchema,
  NamespaceOptionSchema,
  PodSandboxConfigSchema,
} from './gen/cri_pb.ts';
import type {
  Int64ValueSchema,
  LinuxContainerResources,
  LinuxSandboxSecurityContextSchema,
  NamespaceOption,
  PodSandboxConfig,
  SELinuxOptionSchema,
  SecurityProfileSchema,
} from './gen/cri_pb.ts';
import type {
  LinuxResources,
  NamespaceOptions,
  SandboxConfig,
  SandboxSecurity,
  SeLinux,
  SecurityProfile,
} from './model.ts';
import { toInt64, toUint64 } from './number.ts';

export function sandboxConfigToProto(config: SandboxConfig): PodSandboxConfig {
  return create(PodSandboxConfigSchema, {
    metadata: config.metadata,
    hostname: config.hostname,
    logDirectory: config.logDirectory,
    dnsConfig: config.dns,
    portMappings: config.portMappings.map((port) => ({
      ...port,
      protocol: PROTOCOL[port.protocol],
    })),
    labels: config.labels,
    annotations: config.annotations,
    linux: {
      cgroupParent: config.cgroupParent,
      securityContext: sandboxSecurity(config.security),
      sysctls: config.sysctls,
      overhead: config.overhead && resourcesToProto(config.overhead),
      resources: config.resources && resourcesToProto(config.resources),
    },
  });
}

function sandboxSecurity(
  security: SandboxSecurity,
): MessageInitShape<typeof LinuxSandboxSecurityContextSchema> {
  return {
    namespaceOptions: namespacesToProto(security.namespaceOptions),
    selinuxOptions: seLinuxToProto(security.selinux),
    runAsUser: optionalInt64(security.runAsUser),
    runAsGroup: optionalInt64(security.runAsGroup),
    readonlyRootfs: security.readonlyRootfs ?? false,
    supplementalGroups: security.supplementalGroups.map(toInt64),
    supplementalGroupsPolicy: GROUPS_POLICY[security.supplementalGroupsPolicy ?? 'Merge'],
    privileged: security.privileged,
    seccomp: profileToProto(security.seccomp),
  };
}

export function resourcesToProto(resources: LinuxResources): LinuxContainerResources {
  return create(LinuxContainerResourcesSchema, {
    cpuPeriod: toInt64(resources.cpuPeriod ?? 0),
    cpuQuota: toInt64(resources.cpuQuota ?? 0),
    cpuShares: toInt64(resources.cpuShares ?? 0),
    memoryLimitInBytes: toInt64(resources.memoryLimitInBytes ?? 0),
    memorySwapLimitInBytes: toInt64(resources.memorySwapLimitInBytes ?? 0),
    oomScoreAdj: toInt64(resources.oomScoreAdj ?? 0),
    hugepageLimits: (resources.hugepageLimits ?? []).map(({ pageSize, limit }) => ({
      pageSize,
      limit: toUint64(limit),
    })),
    unified: resources.unified ?? {},
  });
}

export function namespacesToProto(options: NamespaceOptions): NamespaceOption {
  const { userns } = options;
  return create(NamespaceOptionSchema, {
    network: NAMESPACE_MODE[options.network],
    pid: NAMESPACE_MODE[options.pid],
    ipc: NAMESPACE_MODE[options.ipc],
    targetId: options.targetId ?? '',
    usernsOptions: userns && {
      mode: NAMESPACE_MODE[userns.mode],
      uids: userns.uids ?? [],
      gids: userns.gids ?? [],
    },
  });
}

export function profileToProto(
  profile: SecurityProfile,
): MessageInitShape<typeof SecurityProfileSchema> {
  return { profileType: PROFILE_TYPE[profile.type], localhostRef: profile.localhostRef ?? '' };
}

export function seLinuxToProto(
  selinux: SeLinux | undefined,
): MessageInitShape<typeof SELinuxOptionSchema> | undefined {
  return selinux && { ...selinux };
}

export function optionalInt64(
  value: number | undefined,
): MessageInitShape<typeof Int64ValueSchema> | undefined {
  return value === undefined ? undefined : { value: toInt64(value) };
}
