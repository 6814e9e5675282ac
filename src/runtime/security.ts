/**
 * Owns: the security context of the sandbox and of each container: the container's fields over the
 * pod's (spec cri-mapping.md §2.3 and §5), and the check that nobody runs as root who must not.
 */
import path from 'node:path';
import type { Container, Pod, ProfileRef, SeLinuxOptions } from '../api/pod.ts';
import { allContainers, podDescription } from '../api/pod.ts';
import type {
  ContainerSecurity,
  NamespaceOptions,
  SandboxSecurity,
  SecurityProfile,
  SeLinux,
  SupplementalGroupsPolicy,
} from '../cri/model.ts';
import { ConfigError } from './config-error.ts';
import type { ContainerImage } from './container-config.ts';
import type { NodeFacts } from './node-facts.ts';
import { maskedPaths, readonlyPaths } from './security-paths.ts';

const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

export type SecurityFacts = Pick<NodeFacts, 'rootDir' | 'seccompDefault' | 'thermalThrottlePaths'>;

export function sandboxSecurity(pod: Pod, namespaces: NamespaceOptions): SandboxSecurity {
  const { containers, initContainers = [], ephemeralContainers = [], securityContext } = pod.spec;
  const all = [...containers, ...initContainers, ...ephemeralContainers];
  return {
    namespaceOptions: namespaces,
    privileged: all.some((container) => container.securityContext?.privileged === true),
    ...defined({
      runAsUser: securityContext.runAsUser,
      runAsGroup: securityContext.runAsGroup,
      selinux: seLinux(securityContext.seLinuxOptions),
    }),
    ...groups(pod),
    // The pod's profile is for its containers; the sandbox only ever runs the pause binary.
    seccomp: { type: 'runtime-default' },
  };
}

export function containerSecurity(
  pod: Pod,
  container: Container,
  image: ContainerImage,
  namespaces: NamespaceOptions,
  facts: SecurityFacts,
): ContainerSecurity {
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext;
  const { capabilities, procMount } = own;
  const apparmor = appArmor(pod, container);
  return {
    namespaceOptions: namespaces,
    privileged: own.privileged === true,
    ...user(pod, container, image),
    ...defined({
      runAsGroup: own.runAsGroup ?? shared.runAsGroup,
      selinux: seLinux(own.seLinuxOptions ?? shared.seLinuxOptions),
      capabilities: capabilities && {
        add: [...(capabilities.add ?? [])],
        drop: [...(capabilities.drop ?? [])],
      },
      apparmor,
      apparmorProfile: apparmor && deprecatedProfile(apparmor),
    }),
    ...groups(pod),
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    noNewPrivs: own.allowPrivilegeEscalation === false,
    maskedPaths: maskedPaths(procMount, facts.thermalThrottlePaths),
    readonlyPaths: readonlyPaths(procMount),
    seccomp: seccomp(own.seccompProfile ?? shared.seccompProfile, facts),
  };
}

/** The manifest's user, else the image's: its number, its name, or root when it has neither. */
function user(
  pod: Pod,
  container: Container,
  image: ContainerImage,
): Pick<ContainerSecurity, 'runAsUser' | 'runAsUsername'> {
  const wanted = runAsUser(pod, container) ?? image.uid;
  if (wanted !== undefined) return { runAsUser: wanted };
  return image.username === '' ? { runAsUser: 0 } : { runAsUsername: image.username };
}

function runAsUser(pod: Pod, container: Container): number | undefined {
  return container.securityContext?.runAsUser ?? pod.spec.securityContext.runAsUser;
}

/** @throws ConfigError with the kubelet's texts; to be asked before a container is created. */
export function verifyRunAsNonRoot(pod: Pod, container: Container, image: ContainerImage): void {
  const mustNot = container.securityContext?.runAsNonRoot ?? pod.spec.securityContext.runAsNonRoot;
  if (!mustNot) return;
  const who = `(pod: "${podDescription(pod)}", container: ${container.name})`;
  const wanted = runAsUser(pod, container);
  if (wanted === 0) throw new ConfigError(`container's runAsUser breaks non-root policy ${who}`);
  if (wanted !== undefined) return;
  if (image.uid === undefined && image.username !== '') {
    throw new ConfigError(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), ` +
        `cannot verify user is non-root ${who}`,
    );
  }
  if (!image.uid) {
    throw new ConfigError(`container has runAsNonRoot and image will run as root ${who}`);
  }
}

function groups(pod: Pod): {
  supplementalGroups: number[];
  supplementalGroupsPolicy: SupplementalGroupsPolicy;
} {
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy } = pod.spec.securityContext;
  return {
    supplementalGroups: [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups],
    supplementalGroupsPolicy: supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge',
  };
}

function seLinux(options: SeLinuxOptions | undefined): SeLinux | undefined {
  if (!options) return undefined;
  const { user: name = '', role = '', type = '', level = '' } = options;
  return { user: name, role, type, level };
}

/** A privileged container is not special: it runs under the profile that it names. */
function seccomp(profile: ProfileRef | undefined, facts: SecurityFacts): SecurityProfile {
  if (!profile) return { type: facts.seccompDefault ? 'runtime-default' : 'unconfined' };
  if (profile.type !== 'Localhost') return profileOf(profile);
  const localhostRef = path.join(facts.rootDir, 'seccomp', profile.localhostProfile ?? '');
  return { type: 'localhost', localhostRef };
}

/** Of all containers that have one. */
export function appArmorProfiles(pod: Pod): SecurityProfile[] {
  return allContainers(pod).flatMap((container) => appArmor(pod, container) ?? []);
}

/** Container field, then the annotation of old, then the pod's field. */
function appArmor(pod: Pod, container: Container): SecurityProfile | undefined {
  const own = container.securityContext?.appArmorProfile;
  if (own) return profileOf(own);
  const annotation = pod.metadata.annotations?.[APPARMOR_ANNOTATION + container.name];
  if (annotation) return annotatedProfile(annotation);
  const shared = pod.spec.securityContext.appArmorProfile;
  return shared && profileOf(shared);
}

function annotatedProfile(text: string): SecurityProfile | undefined {
  if (text === 'runtime/default') return { type: 'runtime-default' };
  if (text === 'unconfined') return { type: 'unconfined' };
  return text.startsWith('localhost/')
    ? { type: 'localhost', localhostRef: text.slice('localhost/'.length) }
    : undefined;
}

function profileOf(profile: ProfileRef): SecurityProfile {
  switch (profile.type) {
    case 'RuntimeDefault':
      return { type: 'runtime-default' };
    case 'Unconfined':
      return { type: 'unconfined' };
    case 'Localhost':
      return { type: 'localhost', localhostRef: profile.localhostProfile ?? '' };
  }
}

function deprecatedProfile(profile: SecurityProfile): string {
  switch (profile.type) {
    case 'runtime-default':
      return 'runtime/default';
    case 'unconfined':
      return 'unconfined';
    case 'localhost':
      return `localhost/${profile.localhostRef ?? ''}`;
  }
}

/** Leaves out what is undefined, so that an absent field stays absent. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
