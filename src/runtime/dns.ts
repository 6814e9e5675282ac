/**
 * Owns: the resolver of a pod: dnsPolicy, dnsConfig, the node's resolver file and its limits
 * (spec cri-mapping.md §2.2). Warnings are data; the caller records them as events.
 */
import type { Pod, PodDnsConfig } from '../api/pod.ts';
import { podDescription } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import type { DnsConfig } from '../cri/model.ts';
import { ConfigError } from './config-error.ts';
import type { NodeFacts } from './node-facts.ts';

const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_LENGTH = 253;
const MAX_SEARCH_LINE = 2048;
const CLUSTER_OPTIONS = ['ndots:5'];

export interface DnsWarning {
  readonly reason: typeof EventReason.MissingClusterDNS | typeof EventReason.DNSConfigForming;
  /** For the pod's event. */
  readonly message: string;
  /** When set, a Warning on the node says this too. */
  readonly nodeMessage?: string;
}

export type DnsFacts = Pick<NodeFacts, 'resolvConf' | 'nodeIps' | 'clusterDNS' | 'clusterDomain'>;

/**
 * `resolverText` is the node's resolver file as it is now.
 * @throws ConfigError when that file cannot be used.
 */
export function podDns(
  pod: Pod,
  facts: DnsFacts,
  resolverText: string,
): { dns: DnsConfig; warnings: DnsWarning[] } {
  const warnings: DnsWarning[] = [];
  const source = sourceOf(pod, facts, warnings);
  let dns: DnsConfig = { servers: [], searches: [], options: [] };
  if (source !== 'none') {
    const host = facts.resolvConf === '' ? dns : parseResolvConf(resolverText);
    dns = source === 'cluster' ? clusterDns(pod, facts, host) : hostDns(facts, host);
  }
  const wanted = pod.spec.dnsConfig ? withPodConfig(dns, pod.spec.dnsConfig) : dns;
  return { dns: withinLimits(wanted, warnings), warnings };
}

function sourceOf(pod: Pod, facts: DnsFacts, warnings: DnsWarning[]): 'cluster' | 'host' | 'none' {
  const { dnsPolicy, hostNetwork } = pod.spec;
  if (dnsPolicy === 'None') return 'none';
  if (dnsPolicy === 'Default' || (dnsPolicy === 'ClusterFirst' && hostNetwork)) return 'host';
  if (facts.clusterDNS.length > 0) return 'cluster';
  const nodeMessage =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
    'Falling back to "Default" policy.';
  warnings.push({
    reason: EventReason.MissingClusterDNS,
    message: `pod: "${podDescription(pod)}". ${nodeMessage}`,
    nodeMessage,
  });
  return 'host';
}

/** The cluster's server forwards what it does not know, so the node's servers are not listed. */
function clusterDns(pod: Pod, facts: DnsFacts, host: DnsConfig): DnsConfig {
  const domain = facts.clusterDomain;
  const own = [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain];
  return {
    servers: [...facts.clusterDNS],
    searches: domain === '' ? host.searches : [...new Set([...own, ...host.searches])],
    options: [...CLUSTER_OPTIONS],
  };
}

/** No resolver file: a server on the loopback address, which is what resolvers fall back to. */
function hostDns(facts: DnsFacts, host: DnsConfig): DnsConfig {
  if (facts.resolvConf !== '') return host;
  const ips = facts.nodeIps.length > 0 ? facts.nodeIps : ['127.0.0.1'];
  const servers = ips.map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
  return { servers, searches: ['.'], options: [] };
}

/** @throws ConfigError for a nameserver line without a value. */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const [word, ...values] = line.trim().split(/\s+/);
    if (!word || word.startsWith('#')) continue;
    if (word === 'nameserver') {
      if (values[0] === undefined) throw new ConfigError('nameserver list is empty ');
      servers.push(values[0]);
    } else if (word === 'search') {
      searches = values.filter((value) => value !== '.').map((value) => value.replace(/\.$/, ''));
    } else if (word === 'options') {
      options = mergeOptions(options, values);
    }
  }
  return { servers, searches, options };
}

function withPodConfig(dns: DnsConfig, config: PodDnsConfig): DnsConfig {
  const own = (config.options ?? []).map(({ name = '', value }) =>
    value ? `${name}:${value}` : name,
  );
  return {
    servers: [...new Set([...dns.servers, ...(config.nameservers ?? [])])],
    searches: [...new Set([...dns.searches, ...(config.searches ?? [])])],
    options: mergeOptions(dns.options, own),
  };
}

/** One of each name, in the order of first mention; a later value wins. */
function mergeOptions(before: readonly string[], more: readonly string[]): string[] {
  const byName = new Map<string, string>();
  for (const option of [...before, ...more]) byName.set(option.split(':')[0] ?? '', option);
  return [...byName.values()];
}

function withinLimits(dns: DnsConfig, warnings: DnsWarning[]): DnsConfig {
  const servers = dns.servers.slice(0, MAX_NAMESERVERS);
  if (servers.length < dns.servers.length) {
    warnings.push({
      reason: EventReason.DNSConfigForming,
      message:
        'Nameserver limits were exceeded, some nameservers have been omitted, ' +
        `the applied nameserver line is: ${servers.join(' ')}`,
    });
  }
  const searches = dns.searches
    .slice(0, MAX_SEARCHES)
    .filter((search) => search.length <= MAX_SEARCH_LENGTH);
  while (searches.join(' ').length > MAX_SEARCH_LINE) searches.pop();
  if (searches.length < dns.searches.length) {
    warnings.push({
      reason: EventReason.DNSConfigForming,
      message:
        'Search Line limits were exceeded, some search paths have been omitted, ' +
        `the applied search line is: ${searches.join(' ')}`,
    });
  }
  return { servers, searches, options: dns.options };
}
