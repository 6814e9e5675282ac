/**
 * Owns: what CreateContainer is asked for, from model.ts to the protocol (spec: cri-mapping.md §3-5).
 */
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  namespacesToProto,
  optionalInt64,
  profileToProto,
  resourcesToProto,
  seLinuxToProto,
} from './convert.ts';
import { GROUPS_POLICY, PROPAGATION, signalNumber } from './enums.ts';
import { ContainerConfigSchema } from './gen/cri_pb.ts';
import type {
  ContainerConfig as ContainerConfigMessage,
  LinuxContainerSecurityContextSchema,
  MountSchema,
} from './gen/cri_pb.ts';
import type { ContainerConfig, ContainerSecurity, Mount } from './model.ts';
import { bytesOfText } from '../util/byte-text.ts';
import { toInt64 } from './number.ts';

export function containerConfigToProto(config: ContainerConfig): ContainerConfigMessage {
  return create(ContainerConfigSchema, {
    metadata: { name: config.name, attempt: config.attempt },
    image: { image: config.image, userSpecifiedImage: config.userSpecifiedImage },
    command: config.command,
    args: config.args,
    workingDir: config.workingDir,
    envs: config.envs.map(({ key, value }) => ({ key, value: bytesOfText(value) })),
    mounts: config.mounts.map(mount),
    devices: config.devices,
    labels: config.labels,
    annotations: config.annotations,
    logPath: config.logPath,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    stopSignal: signalNumber(config.stopSignal),
    linux: {
      resources: resourcesToProto(config.resources),
      securityContext: containerSecurity(config.security),
    },
  });
}

function containerSecurity(
  security: ContainerSecurity,
): MessageInitShape<typeof LinuxContainerSecurityContextSchema> {
  const { capabilities } = security;
  return {
    capabilities: capabilities && {
      addCapabilities: capabilities.add,
      dropCapabilities: capabilities.drop,
    },
    privileged: security.privileged,
    namespaceOptions: namespacesToProto(security.namespaceOptions),
    selinuxOptions: seLinuxToProto(security.selinux),
    runAsUser: optionalInt64(security.runAsUser),
    runAsUsername: security.runAsUsername ?? '',
    runAsGroup: optionalInt64(security.runAsGroup),
    readonlyRootfs: security.readonlyRootfs,
    supplementalGroups: security.supplementalGroups.map(toInt64),
    supplementalGroupsPolicy: GROUPS_POLICY[security.supplementalGroupsPolicy ?? 'Merge'],
    noNewPrivs: security.noNewPrivs,
    maskedPaths: security.maskedPaths,
    readonlyPaths: security.readonlyPaths,
    seccomp: security.seccomp && profileToProto(security.seccomp),
    apparmor: security.apparmor && profileToProto(security.apparmor),
    apparmorProfile: security.apparmorProfile ?? '',
  };
}

function mount(mount: Mount): MessageInitShape<typeof MountSchema> {
  return {
    containerPath: mount.containerPath,
    hostPath: mount.hostPath,
    readonly: mount.readonly,
    selinuxRelabel: mount.selinuxRelabel ?? false,
    propagation: PROPAGATION[mount.propagation ?? 'private'],
    recursiveReadOnly: mount.recursiveReadOnly ?? false,
    image: mount.image && { ...mount.image, annotations: mount.image.annotations ?? {} },
    imageSubPath: mount.imageSubPath ?? '',
    uidMappings: mount.uidMappings ?? [],
    gidMappings: mount.gidMappings ?? [],
  };
}
