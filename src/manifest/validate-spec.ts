/**
 * Owns: validation of the pod-wide fields of a spec: policies, names, DNS, host aliases.
 */
import { isIP } from 'node:net';
import type { Pod, PodDnsConfig, PodSpec } from '../api/pod.ts';
import { validateLabels } from './validate-meta.ts';
import type { Findings } from './validation.ts';
import { MAX_ID, labelProblems, qualifiedNameProblems, subdomainProblems } from './validation.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const MOST_NAMESERVERS = 3;
const MOST_SEARCHES = 32;
const MOST_SEARCH_CHARACTERS = 2048;
const SEARCH_DOMAIN = /^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;
const SEARCH_FORM =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";

export function validateSpec(findings: Findings, { spec }: Pod): void {
  findings.oneOf('spec.restartPolicy', spec.restartPolicy, RESTART_POLICIES);
  findings.between('spec.activeDeadlineSeconds', spec.activeDeadlineSeconds, 1, MAX_ID);
  validateNames(findings, spec);
  validateHostName(findings, spec);
  validateLabels(findings, 'spec.nodeSelector', spec.nodeSelector);
  for (const [index, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    const path = `spec.readinessGates[${index}].conditionType`;
    findings.all(path, conditionType, qualifiedNameProblems(conditionType));
  }
  findings.oneOf('spec.dnsPolicy', spec.dnsPolicy, DNS_POLICIES);
  validateDns(findings, spec);
  for (const [index, { ip, hostnames = [] }] of (spec.hostAliases ?? []).entries()) {
    const path = `spec.hostAliases[${index}]`;
    findings.all(`${path}.ip`, ip, addressProblems(ip));
    for (const [at, name] of hostnames.entries()) {
      findings.all(`${path}.hostnames[${at}]`, name, subdomainProblems(name));
    }
  }
}

function validateNames(findings: Findings, spec: PodSpec): void {
  for (const field of ['serviceAccountName', 'priorityClassName', 'runtimeClassName'] as const) {
    const name = spec[field];
    if (name !== undefined) findings.all(`spec.${field}`, name, subdomainProblems(name));
  }
}

function validateHostName(findings: Findings, spec: PodSpec): void {
  const { hostname, subdomain, hostnameOverride: override } = spec;
  if (hostname !== undefined) findings.all('spec.hostname', hostname, labelProblems(hostname));
  if (subdomain !== undefined) findings.all('spec.subdomain', subdomain, labelProblems(subdomain));
  if (override === undefined) return;
  const path = 'spec.hostnameOverride';
  if (spec.setHostnameAsFQDN) {
    findings.forbidden(path, 'may not be specified when setHostnameAsFQDN is true');
  }
  if (spec.hostNetwork) findings.forbidden(path, 'may not be specified when hostNetwork is true');
  if (override.length > 64) findings.invalid(path, override, 'must be no more than 64 characters');
  findings.all(path, override, subdomainProblems(override));
}

function validateDns(findings: Findings, spec: PodSpec): void {
  const config: PodDnsConfig = spec.dnsConfig ?? {};
  const { nameservers = [], searches = [], options = [] } = config;
  const path = 'spec.dnsConfig';
  if (spec.dnsPolicy === 'None' && nameservers.length === 0) {
    const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
    findings.required(`${path}.nameservers`, detail);
  }
  if (nameservers.length > MOST_NAMESERVERS) {
    const detail = `must not have more than ${MOST_NAMESERVERS} nameservers`;
    findings.invalid(`${path}.nameservers`, nameservers, detail);
  }
  for (const [index, server] of nameservers.entries()) {
    findings.all(`${path}.nameservers[${index}]`, server, addressProblems(server));
  }
  if (searches.length > MOST_SEARCHES) {
    const detail = `must not have more than ${MOST_SEARCHES} search paths`;
    findings.invalid(`${path}.searches`, searches.length, detail);
  }
  if (searches.join(' ').length > MOST_SEARCH_CHARACTERS) {
    const detail = `must not have more than ${MOST_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    findings.invalid(`${path}.searches`, searches.length, detail);
  }
  for (const [index, search] of searches.entries()) {
    const bare = search === '.' ? 'root' : search.replace(/\.$/, '');
    if (bare.length > 253 || !SEARCH_DOMAIN.test(bare)) {
      findings.invalid(`${path}.searches[${index}]`, search, SEARCH_FORM);
    }
  }
  for (const [index, { name = '' }] of options.entries()) {
    if (name === '') findings.required(`${path}.options[${index}].name`);
  }
}

/** What is wrong with an IP address. */
export function addressProblems(value: string): string[] {
  const octets = /^(?:\d{1,3}\.){3}\d{1,3}$/.test(value) ? value.split('.') : [];
  if (octets.some((octet) => /^0\d/.test(octet))) return ['must not have leading 0s'];
  if (isIP(value) !== 0 && !value.includes('%')) return [];
  return ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
}
