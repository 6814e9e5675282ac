/**
 * Owns: what a manifest asks for and no standalone node can give: known fields whose effect needs a control
 * plane, a storage driver or a device, and annotations that the kubelet has long forgotten. Each with the reason.
 * Invariants: only what the file itself says, never a default; only where what somebody expects does not
 * happen: an ordinary manifest has nothing to be warned about.
 * Leaves to others: what is refused (validate*.ts, references.ts), what only the running node can tell.
 */
import type { ObjectMeta, Pod, PodSpec } from '../api/pod.ts';
import { unhonouredInContainers } from './unhonoured-container.ts';
import { unhonouredVolumes } from './unhonoured-volume.ts';

export interface Unhonoured {
  /** Field path. */
  readonly path: string;
  readonly message: string;
}

export type Say = (path: string, message: string) => void;

/** A hostile file could give millions. */
const MOST = 100;

/** `pod` as decoded, before defaults and identity. */
export function unhonoured(pod: Pod, nodeName: string): Unhonoured[] {
  const found: Unhonoured[] = [];
  const say: Say = (path, message) => {
    if (found.length < MOST) found.push({ path, message });
  };
  metadata(pod.metadata, say);
  annotations(pod.metadata.annotations ?? {}, say);
  scheduling(pod.spec, nodeName, say);
  controlPlane(pod.spec, say);
  unhonouredInContainers(pod.spec, say);
  unhonouredVolumes(pod.spec, say);
  if (Object.keys(pod.status ?? {}).length > 0) {
    say('status', 'what a file says about the status is not used');
  }
  return found;
}

/** Signs of a pod that was read from a server; a creationTimestamp alone is what generators write. */
const SERVER_FIELDS = ['generation', 'resourceVersion', 'selfLink', 'managedFields'] as const;

function metadata(meta: ObjectMeta, say: Say): void {
  const [first, ...others] = SERVER_FIELDS.filter((field) => meta[field] !== undefined);
  if (first !== undefined) {
    const also = others.length > 0 ? `; nor have ${others.join(', ')}` : '';
    say(`metadata.${first}`, `an API server sets this, in a file it has no effect${also}`);
  }
  if (meta.ownerReferences?.length) {
    say('metadata.ownerReferences', 'nobody looks for an owner: the pod goes when its file goes');
  }
  if (meta.finalizers?.length) {
    say('metadata.finalizers', 'nobody waits for finalizers: the pod goes when its file goes');
  }
}

/** Annotations that once meant what a field means now. */
const FORGOTTEN: readonly (readonly [key: RegExp, field: string])[] = [
  [/^seccomp\.security\.alpha\.kubernetes\.io\/pod$/, 'spec.securityContext.seccompProfile'],
  [
    /^container\.seccomp\.security\.alpha\.kubernetes\.io\//,
    'securityContext.seccompProfile of the container',
  ],
  [/^security\.alpha\.kubernetes\.io\/(unsafe-)?sysctls$/, 'spec.securityContext.sysctls'],
  [/^pod\.(alpha|beta)\.kubernetes\.io\/init-containers$/, 'spec.initContainers'],
  [/^pod\.beta\.kubernetes\.io\/hostname$/, 'spec.hostname'],
  [/^pod\.beta\.kubernetes\.io\/subdomain$/, 'spec.subdomain'],
];

function annotations(given: Readonly<Record<string, string>>, say: Say): void {
  for (const key of Object.keys(given)) {
    const field = FORGOTTEN.find(([pattern]) => pattern.test(key))?.[1];
    if (field === undefined) continue;
    say(`metadata.annotations[${key}]`, `this annotation has no effect any more: use ${field}`);
  }
}

/** Which node, and next to whom: there is one node, and the file is on it. */
function scheduling(spec: PodSpec, nodeName: string, say: Say): void {
  const { nodeName: given, schedulerName, affinity } = spec;
  if (given && given.toLowerCase() !== nodeName.toLowerCase()) {
    say('spec.nodeName', `the pod runs on the node that has its file, ${nodeName.toLowerCase()}`);
  }
  if (schedulerName && schedulerName !== 'default-scheduler') {
    say('spec.schedulerName', 'no scheduler is asked: the pod runs on the node that has its file');
  }
  if (spec.schedulingGroup) {
    say('spec.schedulingGroup', 'no scheduler is asked: the pod does not wait for its group');
  }
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const required = affinity?.[kind]?.['requiredDuringSchedulingIgnoredDuringExecution'];
    if (!Array.isArray(required) || required.length === 0) continue;
    say(`spec.affinity.${kind}`, 'not checked: what else runs on the node keeps no pod from it');
  }
  for (const [index, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    if (constraint['whenUnsatisfiable'] === 'ScheduleAnyway') continue;
    const path = `spec.topologySpreadConstraints[${index}]`;
    say(path, 'not checked: the pod runs on the node that has its file');
  }
}

/** What a controller, an admission plugin or a lookup in the API would have to provide. */
function controlPlane(spec: PodSpec, say: Say): void {
  const { priorityClassName, priority } = spec;
  if (priorityClassName && !isSystemPriority(priorityClassName) && priority === undefined) {
    const hint = 'set spec.priority too, or use system-node-critical or system-cluster-critical';
    say('spec.priorityClassName', `a PriorityClass cannot be looked up here: ${hint}`);
  }
  for (const [index, gate] of (spec.readinessGates ?? []).entries()) {
    const message = `nobody sets the condition ${gate.conditionType} here: the pod never becomes ready`;
    say(`spec.readinessGates[${index}]`, message);
  }
  if (spec.enableServiceLinks === true) {
    say('spec.enableServiceLinks', 'there are no Services here, and no variables for them');
  }
  if (spec.automountServiceAccountToken === true) {
    const message = 'there are no service accounts here: no token is mounted';
    say('spec.automountServiceAccountToken', message);
  }
  if (spec.securityContext?.windowsOptions) {
    say('spec.securityContext.windowsOptions', 'for Windows only, it has no effect');
  }
}

function isSystemPriority(name: string): boolean {
  return name === 'system-node-critical' || name === 'system-cluster-critical';
}
