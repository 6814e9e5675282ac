/**
 * Owns: the text of a pod's /etc/hosts (spec cri-mapping.md §3.3).
 * Leaves to others: writing the file, at every container start.
 */
import type { HostAlias, Pod } from '../api/pod.ts';
import { podHostname } from './hostname.ts';

const HEADER = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;
const HOST_NETWORK_HEADER = '# Kubernetes-managed hosts file (host network).\n';

export interface HostsInput {
  readonly pod: Pod;
  readonly podIps: readonly string[];
  readonly clusterDomain: string;
  /** The node's own /etc/hosts, for pods on the host's network. */
  readonly hostFile: string | undefined;
}

/** @throws ConfigError when the pod cannot have a host name. */
export function hostsText({ pod, podIps, clusterDomain, hostFile }: HostsInput): string {
  const aliases = aliasBlock(pod.spec.hostAliases ?? []);
  if (pod.spec.hostNetwork) return HOST_NETWORK_HEADER + (hostFile ?? '') + aliases;
  const { host, domain } = podHostname(pod, clusterDomain);
  const names = domain === '' ? host : `${host}.${domain}\t${host}`;
  return HEADER + podIps.map((ip) => `${ip}\t${names}\n`).join('') + aliases;
}

function aliasBlock(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
