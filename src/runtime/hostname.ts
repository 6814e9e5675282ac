/**
 * Owns: the host name and domain of a pod (spec cri-mapping.md §2.1).
 */
import type { Pod } from '../api/pod.ts';
import { ConfigError } from './config-error.ts';

const MAX_LABEL = 63;
/** What the kernel takes. */
const MAX_KERNEL_NAME = 64;

export interface PodHostname {
  readonly host: string;
  /** '' without a subdomain. */
  readonly domain: string;
}

/** @throws ConfigError when nothing of the name is left. */
export function podHostname(pod: Pod, clusterDomain: string): PodHostname {
  const { spec, metadata } = pod;
  if (spec.hostnameOverride) {
    return { host: spec.hostnameOverride.slice(0, MAX_LABEL), domain: '' };
  }
  const wanted = spec.hostname || metadata.name;
  const host =
    wanted.length <= MAX_LABEL ? wanted : wanted.slice(0, MAX_LABEL).replace(/[-.]+$/, '');
  if (host === '') {
    throw new ConfigError(`hostname for pod "${metadata.name}" was invalid: "${wanted}"`);
  }
  return { host, domain: domainOf(pod, clusterDomain) };
}

/** Unlike the kubelet: without a cluster domain the name does not end in a dot. */
function domainOf(pod: Pod, clusterDomain: string): string {
  const { subdomain } = pod.spec;
  if (!subdomain) return '';
  const domain = `${subdomain}.${pod.metadata.namespace}.svc`;
  return clusterDomain === '' ? domain : `${domain}.${clusterDomain}`;
}

/**
 * The name that the sandbox's kernel gets; '' for the host's network, which keeps the node's name.
 * @throws ConfigError when the fully qualified name is asked for and too long.
 */
export function sandboxHostname(pod: Pod, clusterDomain: string): string {
  if (pod.spec.hostNetwork) return '';
  const { host, domain } = podHostname(pod, clusterDomain);
  if (!pod.spec.setHostnameAsFQDN || domain === '') return host;
  const name = `${host}.${domain}`;
  if (name.length > MAX_KERNEL_NAME) {
    throw new ConfigError(
      `Failed to construct FQDN from pod hostname and cluster domain, FQDN ${name} is too long ` +
        `(${MAX_KERNEL_NAME} characters is the max, ${name.length} characters requested)`,
    );
  }
  return name;
}
