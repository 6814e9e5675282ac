/**
 * Owns: the way back from a recorded request (JSON with the protocol's field names) to model.ts,
 * written apart from src/cri so that the two can be held against each other.
 */
import type {
  ContainerConfig,
  IdMapping,
  LinuxResources,
  Mount,
  NamespaceMode,
  NamespaceOptions,
  PodSandboxMetadata,
  PortMapping,
  SandboxConfig,
  SeLinux,
  SecurityProfile,
  SupplementalGroupsPolicy,
} from '../../src/cri/model.ts';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- recorded JSON, checked by the comparison
type Json = any;

/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access,
   @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-return */

export function sandboxConfigFromJson(json: Json): SandboxConfig {
  const linux = json.linux ?? {};
  const security = linux.security_context ?? {};
  return {
    metadata: { attempt: 0, ...json.metadata } as PodSandboxMetadata,
    hostname: json.hostname ?? '',
    logDirectory: json.log_directory ?? '',
    ...(json.dns_config && {
      dns: { servers: [], searches: [], options: [], ...json.dns_config },
    }),
    portMappings: (json.port_mappings ?? []).map(port),
    labels: json.labels ?? {},
    annotations: json.annotations ?? {},
    cgroupParent: linux.cgroup_parent ?? '',
    sysctls: linux.sysctls ?? {},
    ...(linux.resources && { resources: resources(linux.resources) }),
    ...(linux.overhead && { overhead: resources(linux.overhead) }),
    security: {
      namespaceOptions: namespaces(security.namespace_options ?? {}),
      privileged: security.privileged ?? false,
      ...user(security),
      seccomp: profile(security.seccomp ?? {}),
      readonlyRootfs: security.readonly_rootfs ?? false,
    },
  };
}

export function containerConfigFromJson(json: Json): ContainerConfig {
  const security = json.linux?.security_context ?? {};
  const { capabilities } = security;
  return {
    name: json.metadata.name,
    attempt: json.metadata.attempt ?? 0,
    image: json.image?.image ?? '',
    userSpecifiedImage: json.image?.user_specified_image ?? '',
    command: json.command ?? [],
    args: json.args ?? [],
    workingDir: json.working_dir ?? '',
    envs: (json.envs ?? []).map((env: Json) => ({ key: env.key, value: env.value ?? '' })),
    mounts: (json.mounts ?? []).map(mount),
    devices: [],
    labels: json.labels ?? {},
    annotations: json.annotations ?? {},
    logPath: json.log_path ?? '',
    stdin: json.stdin ?? false,
    stdinOnce: json.stdin_once ?? false,
    tty: json.tty ?? false,
    resources: resources(json.linux?.resources ?? {}),
    security: {
      namespaceOptions: namespaces(security.namespace_options ?? {}),
      privileged: security.privileged ?? false,
      ...user(security),
      ...(capabilities && {
        capabilities: {
          add: capabilities.add_capabilities ?? [],
          drop: capabilities.drop_capabilities ?? [],
        },
      }),
      readonlyRootfs: security.readonly_rootfs ?? false,
      noNewPrivs: security.no_new_privs ?? false,
      maskedPaths: security.masked_paths ?? [],
      readonlyPaths: security.readonly_paths ?? [],
      ...(security.seccomp && { seccomp: profile(security.seccomp) }),
      ...(security.apparmor && { apparmor: profile(security.apparmor) }),
    },
  };
}

function user(security: Json): {
  runAsUser?: number;
  runAsGroup?: number;
  supplementalGroups: number[];
  supplementalGroupsPolicy: SupplementalGroupsPolicy;
  selinux?: SeLinux;
} {
  return {
    ...(security.run_as_user && { runAsUser: Number(security.run_as_user.value ?? 0) }),
    ...(security.run_as_group && { runAsGroup: Number(security.run_as_group.value ?? 0) }),
    supplementalGroups: (security.supplemental_groups ?? []).map(Number),
    supplementalGroupsPolicy: security.supplemental_groups_policy ?? 'Merge',
    ...(security.selinux_options && {
      selinux: { user: '', role: '', type: '', level: '', ...security.selinux_options },
    }),
  };
}

function namespaces(json: Json): NamespaceOptions {
  const mode = (name: string | undefined): NamespaceMode =>
    (name ?? 'POD').toLowerCase() as NamespaceMode;
  const { userns_options: userns } = json;
  return {
    network: mode(json.network),
    pid: mode(json.pid),
    ipc: mode(json.ipc),
    ...(userns && {
      userns: { mode: mode(userns.mode), uids: ids(userns.uids), gids: ids(userns.gids) },
    }),
  };
}

function ids(json: Json): IdMapping[] {
  return (json ?? []).map((range: Json) => ({
    hostId: range.host_id ?? 0,
    containerId: range.container_id ?? 0,
    length: range.length ?? 0,
  }));
}

function profile(json: Json): SecurityProfile {
  const types = {
    RuntimeDefault: 'runtime-default',
    Unconfined: 'unconfined',
    Localhost: 'localhost',
  } as const;
  const type = types[(json.profile_type ?? 'RuntimeDefault') as keyof typeof types];
  return { type, localhostRef: json.localhost_ref ?? '' };
}

function port(json: Json): PortMapping {
  return {
    protocol: json.protocol ?? 'TCP',
    containerPort: json.container_port ?? 0,
    hostPort: json.host_port ?? 0,
    hostIp: json.host_ip ?? '',
  };
}

function resources(json: Json): LinuxResources {
  return {
    cpuPeriod: Number(json.cpu_period ?? 0),
    cpuQuota: Number(json.cpu_quota ?? 0),
    cpuShares: Number(json.cpu_shares ?? 0),
    memoryLimitInBytes: Number(json.memory_limit_in_bytes ?? 0),
    memorySwapLimitInBytes: Number(json.memory_swap_limit_in_bytes ?? 0),
    oomScoreAdj: Number(json.oom_score_adj ?? 0),
    hugepageLimits: (json.hugepage_limits ?? []).map((limit: Json) => ({
      pageSize: limit.page_size,
      limit: Number(limit.limit ?? 0),
    })),
    unified: json.unified ?? {},
  };
}

function mount(json: Json): Mount {
  const propagation = {
    PROPAGATION_PRIVATE: 'private',
    PROPAGATION_HOST_TO_CONTAINER: 'host-to-container',
    PROPAGATION_BIDIRECTIONAL: 'bidirectional',
  } as const;
  return {
    containerPath: json.container_path ?? '',
    hostPath: json.host_path ?? '',
    readonly: json.readonly ?? false,
    selinuxRelabel: json.selinux_relabel ?? false,
    propagation:
      propagation[(json.propagation ?? 'PROPAGATION_PRIVATE') as keyof typeof propagation],
    recursiveReadOnly: json.recursive_read_only ?? false,
    ...(json.image && {
      image: {
        image: json.image.image ?? '',
        userSpecifiedImage: json.image.user_specified_image ?? '',
        annotations: json.image.annotations ?? {},
      },
    }),
    imageSubPath: json.image_sub_path ?? '',
    uidMappings: ids(json.uidMappings),
    gidMappings: ids(json.gidMappings),
  };
}
