/**
 * Owns: what makes a decoded pod this node's static pod (spec static-pods §3, steps 2–8 and 11): uid,
 * name suffix, namespace, node name, annotations, toleration, phase.
 * Invariant: the uid depends on what the pod says, the node and the file's path, and on nothing else:
 * not on comments, key order, YAML or JSON, spelling of quantities, or written-out defaults.
 */
import { createHash } from 'node:crypto';
import type { Pod, Toleration } from '../api/pod.ts';
import { parseQuantity } from '../api/quantity.ts';
import { Annotation } from '../api/reasons.ts';
import type { LoadOptions } from './model.ts';

/** Fields whose values are quantities, directly or in a list by resource name. */
const QUANTITY_FIELDS = new Set(['limits', 'requests', 'overhead', 'sizeLimit', 'divisor']);

/** Gives a defaulted pod its identity, in place. */
export function setIdentity(pod: Pod, options: LoadOptions): void {
  const { metadata, spec } = pod;
  if (metadata.uid === '') metadata.uid = computeUid(pod, options);
  metadata.name = `${metadata.name}-${options.nodeName.toLowerCase()}`;
  if (metadata.namespace === '') metadata.namespace = 'default';
  spec.nodeName = options.nodeName;
  metadata.annotations = {
    ...metadata.annotations,
    [Annotation.configHash]: metadata.uid,
    [Annotation.configSource]: 'file',
  };
  spec.tolerations = withNoExecute(spec.tolerations ?? []);
  // Unlike the kubelet: a status in a manifest is somebody else's past, so nothing of it is kept.
  pod.status = { phase: 'Pending' };
}

/** The annotation of a pod that is seen for the first time at `seenAt` (RFC 3339 with 9 digits). */
export function setSeen(pod: Pod, seenAt: string): void {
  pod.metadata.annotations = { ...pod.metadata.annotations, [Annotation.configSeen]: seenAt };
}

/** 32 lower-case hex digits. MD5 serves as a name here, not as protection. */
export function computeUid(pod: Pod, options: LoadOptions): string {
  const hash = createHash('md5');
  feed(hash, { metadata: pod.metadata, spec: pod.spec }, '');
  hash.update(`host:${options.nodeName}`);
  hash.update(`file:${options.path}`);
  return hash.digest('hex');
}

/** Maps from keys that users choose: a label named `limits` is no list of quantities. */
const TEXT_MAPS = new Set(['labels', 'annotations', 'nodeSelector', 'matchLabels', 'options']);

interface Sink {
  update(text: string): unknown;
}

/** Canonical form: keys sorted, empty objects and lists left out, quantities by value. */
function feed(sink: Sink, value: unknown, field: string): void {
  if (Array.isArray(value)) {
    sink.update('[');
    for (const item of value) {
      feed(sink, item, field);
      sink.update(',');
    }
    sink.update(']');
  } else if (typeof value === 'object' && value !== null) {
    sink.update('{');
    const entries = Object.entries(value as Record<string, unknown>).filter(([, v]) => !isEmpty(v));
    for (const [key, inner] of entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
      sink.update(`${JSON.stringify(key)}:`);
      feed(sink, inner, QUANTITY_FIELDS.has(field) || TEXT_MAPS.has(field) ? field : key);
      sink.update(',');
    }
    sink.update('}');
  } else if (typeof value === 'string' && QUANTITY_FIELDS.has(field)) {
    const amount = parseQuantity(value);
    sink.update(amount ? `${amount.nano}n` : JSON.stringify(value));
  } else {
    sink.update(JSON.stringify(value) ?? 'null');
  }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  return Object.values(value).every((inner) => !Array.isArray(value) && isEmpty(inner));
}

/** A static pod stays on its node whatever its taints: the kubelet's toleration replaces its like. */
function withNoExecute(tolerations: Toleration[]): Toleration[] {
  const own: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const index = tolerations.findIndex(
    ({ key, operator, value, effect }) =>
      (key ?? '') === '' && operator === 'Exists' && (value ?? '') === '' && effect === 'NoExecute',
  );
  if (index < 0) return [...tolerations, own];
  return tolerations.map((toleration, at) => (at === index ? own : toleration));
}
