/**
 * Owns: the effective configuration: defaults, then the file, then flags given explicitly
 * (spec: config.md §1). Everything wrong is reported together, one line each.
 * Invariant: the result is deeply frozen, and complete without any file.
 */
import fs from 'node:fs';
import os from 'node:os';
import { messageOf } from '../util/errors.ts';
import { readCredentialProviders } from './credential-providers.ts';
import { readConfigText } from './file.ts';
import type { FileContent } from './file.ts';
import { readFlags } from './flags.ts';
import type { AgentFlags } from './flags.ts';
import type { Config } from './model.ts';
import { configError, shown } from './problem.ts';
import type { Problem } from './problem.ts';
import { isletSettings, kubeletSettings } from './settings.ts';
import { validateIslet } from './validate-islet.ts';
import { validateKubelet } from './validate.ts';

/** What the configuration depends on beside flags and file. */
export interface Environment {
  /** Directory that relative paths in flags are relative to. */
  readonly cwd: string;
  readonly hostname: string;
  readonly cores: number;
}

/**
 * Unlike the kubelet, whose default is /var/lib/kubelet: both may be installed on one machine, and
 * neither may take the other's pods for its own.
 */
export const DEFAULT_ROOT_DIR = '/var/lib/islet';

const NODE_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

export function hostEnvironment(): Environment {
  return { cwd: process.cwd(), hostname: os.hostname(), cores: os.availableParallelism() };
}

/**
 * `parsed` is what commander's `opts()` returns for AGENT_FLAGS. Throws an IsletError of code
 * `invalid` whose message has one line for each fault: `FILE:LINE: field: found X, expected Y`.
 */
export function loadConfig(
  parsed: Readonly<Record<string, unknown>>,
  environment: Environment = hostEnvironment(),
): Config {
  const { flags, problems } = readFlags(parsed, environment.cwd);
  const file = flags.config === undefined ? undefined : readFile(flags.config, problems);
  const kubelet = withKubeletFlags(file?.kubelet ?? {}, flags);
  for (const fault of validateKubelet(kubelet))
    problems.push({ ...fault, where: file?.whereKubelet(fault.at) ?? 'flags' });
  for (const fault of validateIslet(file?.islet ?? {}))
    problems.push({ ...fault, where: file?.whereIslet(fault.at) ?? 'flags' });
  const node = nodeName(flags, environment, problems);
  const credentialProviders = readCredentialProviders(flags, problems);
  if (problems.length > 0) throw configError(problems);

  const rootDir = flags.rootDir ?? DEFAULT_ROOT_DIR;
  const settings = kubeletSettings({ written: kubelet, fileUsed: file !== undefined });
  return freeze({
    nodeName: node,
    rootDir,
    nodeIps: flags.nodeIps ?? [],
    nodeLabels: flags.nodeLabels ?? {},
    kubeconfig: flags.kubeconfig,
    verbosity: flags.verbosity ?? logVerbosity(kubelet),
    kubelet: settings,
    deadContainers: {
      minAgeMs: flags.minimumContainerTtlMs ?? 0,
      maxPerContainer: flags.maximumDeadContainersPerContainer ?? 1,
      maxTotal: flags.maximumDeadContainers ?? -1,
    },
    islet: isletSettings({
      written: withIsletFlags(file?.islet ?? {}, flags),
      rootDir,
      podCIDR: settings.podCIDR,
      cores: environment.cores,
    }),
    credentialProviders,
  });
}

function readFile(file: string, problems: Problem[]): FileContent | undefined {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    const found = `an unreadable file (${messageOf(error)})`;
    problems.push({ where: '--config', field: '', found, expected: 'a file that can be read' });
    return undefined;
  }
  const content = readConfigText(text, file);
  problems.push(...content.problems);
  return content;
}

function withKubeletFlags(
  written: Readonly<Record<string, unknown>>,
  flags: AgentFlags,
): Record<string, unknown> {
  const out = { ...written };
  if (flags.podManifestPath !== undefined) out['staticPodPath'] = flags.podManifestPath;
  if (flags.containerRuntimeEndpoint !== undefined)
    out['containerRuntimeEndpoint'] = flags.containerRuntimeEndpoint;
  return out;
}

function withIsletFlags(
  written: Readonly<Record<string, unknown>>,
  flags: AgentFlags,
): Record<string, unknown> {
  const out = { ...written };
  if (flags.containerd !== undefined) out['containerd'] = flags.containerd;
  if (flags.socket !== undefined) out['socketPath'] = flags.socket;
  if (flags.stopPodsOnExit) out['stopPodsOnExit'] = true;
  return out;
}

/** Spec: node-api.md §1: trimmed, lower case, a DNS-1123 subdomain. */
function nodeName(flags: AgentFlags, environment: Environment, problems: Problem[]): string {
  const name = (flags.hostnameOverride ?? environment.hostname).trim().toLowerCase();
  if (name.length > 253 || !NODE_NAME.test(name))
    problems.push({
      where: flags.hostnameOverride === undefined ? 'host name' : '--hostname-override',
      field: '',
      found: shown(name),
      expected: 'a DNS name of lower case letters, digits, "-" and "."',
    });
  return name;
}

function logVerbosity(kubelet: Readonly<Record<string, unknown>>): number {
  const logging = kubelet['logging'] as { verbosity?: number } | undefined;
  return logging?.verbosity ?? 0;
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}
