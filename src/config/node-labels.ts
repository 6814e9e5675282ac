/**
 * Owns: the value of `--node-labels`: `KEY=VALUE,KEY=VALUE`, and which keys a node may give itself
 * (spec: node-api.md §2).
 */
import { shown } from './problem.ts';

const NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;
const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** What the kubelet may set of the domains that belong to Kubernetes. */
const ALLOWED = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
]);
const ALLOWED_DOMAIN = /(^|\.)(kubelet|node)\.kubernetes\.io$/;
const KUBERNETES_DOMAIN = /(^|\.)(kubernetes|k8s)\.io$/;

/** What was expected instead, or undefined when the value is right. */
export function nodeLabelsProblem(value: string): string | undefined {
  for (const pair of pairs(value)) {
    const [key = '', label, ...more] = pair.split('=');
    if (label === undefined || more.length > 0 || !isKey(key) || !VALUE.test(label)) {
      return `KEY=VALUE,KEY=VALUE with names and values of labels, not ${shown(pair)}`;
    }
    const domain = key.includes('/') ? (key.split('/')[0] ?? '') : '';
    if (KUBERNETES_DOMAIN.test(domain) && !ALLOWED.has(key) && !ALLOWED_DOMAIN.test(domain)) {
      return `in the domains of Kubernetes only kubelet.kubernetes.io/…, node.kubernetes.io/… and the usual labels of a node, not ${key}`;
    }
  }
  return undefined;
}

/** Of a value without a problem. */
export function parseNodeLabels(value: string): Record<string, string> {
  return Object.fromEntries(
    pairs(value).map((pair) => {
      const [key = '', label = ''] = pair.split('=');
      return [key, label];
    }),
  );
}

function pairs(value: string): string[] {
  return value
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');
}

function isKey(key: string): boolean {
  const [name = '', domain, ...more] = key.split('/').reverse();
  if (more.length > 0 || !NAME.test(name)) return false;
  return domain === undefined || (domain.length <= 253 && DOMAIN.test(domain));
}
