/**
 * Owns: the agent's flags as data: their names, help, and what they may hold. commander gets them
 * from here, and `readFlags` turns what it parsed into typed values.
 * Invariant: a flag given explicitly wins over the file; one that was not given is absent.
 */
import { isIP } from 'node:net';
import path from 'node:path';
import { parseDuration } from './duration.ts';
import { formProblem } from './form.ts';
import { CONTAINERD_MODES } from './islet-fields.ts';
import type { ContainerdMode } from './model.ts';
import { nodeLabelsProblem, parseNodeLabels } from './node-labels.ts';
import { shown } from './problem.ts';
import type { Problem } from './problem.ts';
import { isCleanPath } from './validate.ts';

export interface FlagSpec {
  /** As commander wants it, e.g. `--config <file>`. */
  readonly flags: string;
  readonly description: string;
}

/** Flags of `islet run` and `islet up`; the first fourteen are the kubelet's. */
export const AGENT_FLAGS: readonly FlagSpec[] = [
  {
    flags: '--config <file>',
    description: 'KubeletConfiguration and IsletConfiguration, YAML or JSON',
  },
  {
    flags: '--root-dir <dir>',
    description: 'where the agent keeps its files (default /var/lib/islet)',
  },
  { flags: '--hostname-override <name>', description: 'node name instead of the host name' },
  { flags: '--pod-manifest-path <path>', description: 'directory of pod manifests, or one file' },
  { flags: '--kubeconfig <file>', description: 'kube-apiserver to mirror pods to' },
  { flags: '--container-runtime-endpoint <url>', description: 'CRI socket, unix:///path' },
  {
    flags: '--node-ip <addresses>',
    description: 'node address, or an IPv4 and an IPv6 one with a comma',
  },
  {
    flags: '--node-labels <labels>',
    description: 'labels of the node, KEY=VALUE,…, for nodeSelector',
  },
  {
    flags: '--image-credential-provider-config <path>',
    description:
      'CredentialProviderConfig: programs that know registry credentials; a file or a directory of files',
  },
  {
    flags: '--image-credential-provider-bin-dir <dir>',
    description: 'where those programs are',
  },
  {
    flags: '--minimum-container-ttl-duration <duration>',
    description: 'a dead container is kept at least so long (default 0s)',
  },
  {
    flags: '--maximum-dead-containers-per-container <count>',
    description: 'dead instances kept of each container; negative: all (default 1)',
  },
  {
    flags: '--maximum-dead-containers <count>',
    description: 'dead containers kept on the node; negative: all (default -1)',
  },
  { flags: '-v, --v <level>', description: 'how much is logged; 4 and more is debug' },
  {
    flags: '--containerd <mode>',
    description: 'managed: run a containerd of its own; external; auto',
  },
  {
    flags: '--socket <path>',
    description: 'unix socket of the command line (default ROOT_DIR/islet.sock)',
  },
  {
    flags: '--stop-pods-on-exit',
    description: 'when the agent ends, its pods end first, by priority',
  },
];

export interface AgentFlags {
  readonly config?: string;
  readonly rootDir?: string;
  readonly hostnameOverride?: string;
  readonly podManifestPath?: string;
  readonly kubeconfig?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly nodeIps?: readonly string[];
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly credentialProviderConfig?: string;
  readonly credentialProviderBinDir?: string;
  readonly minimumContainerTtlMs?: number;
  readonly maximumDeadContainersPerContainer?: number;
  readonly maximumDeadContainers?: number;
  readonly verbosity?: number;
  readonly containerd?: ContainerdMode;
  readonly socket?: string;
  readonly stopPodsOnExit?: boolean;
}

/**
 * Brings the kubelet's spellings into the one that commander reads: `--root_dir=x`, `-v=4`.
 * What follows `--` is left alone.
 */
export function normalizeArgv(argv: readonly string[]): string[] {
  const end = argv.indexOf('--');
  return argv.map((word, index) => {
    if (end >= 0 && index >= end) return word;
    if (/^-v=/.test(word)) return `--v${word.slice(2)}`;
    const match = /^(--[^=]*)(=.*)?$/s.exec(word);
    return match ? (match[1] ?? '').replaceAll('_', '-') + (match[2] ?? '') : word;
  });
}

/** `parsed` is what commander's `opts()` returns; paths are resolved against `cwd`. */
export function readFlags(
  parsed: Readonly<Record<string, unknown>>,
  cwd: string,
): { flags: AgentFlags; problems: Problem[] } {
  const problems: Problem[] = [];
  const given = (name: string): string | undefined =>
    typeof parsed[name] === 'string' ? parsed[name] : undefined;
  const check = (name: string, flag: string, expected: (value: string) => string | undefined) => {
    const value = given(name);
    const wrong = value === undefined ? undefined : expected(value);
    if (value !== undefined && wrong !== undefined)
      problems.push({ where: flag, field: '', found: shown(value), expected: wrong });
    return wrong === undefined ? value : undefined;
  };
  const file = (name: string): string | undefined => {
    const value = given(name);
    return value ? path.resolve(cwd, value) : undefined;
  };
  const nodeIp = check('nodeIp', '--node-ip', nodeIpProblem);
  const nodeLabels = check('nodeLabels', '--node-labels', nodeLabelsProblem);
  const verbosity = check('v', '-v', (value) =>
    /^\d{1,3}$/.test(value) ? undefined : 'a whole number from 0',
  );
  const flags = {
    config: file('config'),
    rootDir: check('rootDir', '--root-dir', (value) =>
      isCleanPath(value) && value !== '/' ? undefined : 'an absolute, clean path',
    ),
    hostnameOverride: given('hostnameOverride') || undefined,
    podManifestPath: file('podManifestPath'),
    kubeconfig: file('kubeconfig'),
    containerRuntimeEndpoint:
      check('containerRuntimeEndpoint', '--container-runtime-endpoint', (value) =>
        value === '' ? undefined : formProblem(value, 'endpoint'),
      ) || undefined,
    nodeIps: nodeIp ? nodeIp.split(',') : undefined,
    nodeLabels: nodeLabels ? parseNodeLabels(nodeLabels) : undefined,
    credentialProviderConfig: file('imageCredentialProviderConfig'),
    credentialProviderBinDir: file('imageCredentialProviderBinDir'),
    ...deadContainerFlags(check),
    verbosity: verbosity === undefined ? undefined : Number(verbosity),
    containerd: check('containerd', '--containerd', (value) =>
      isMode(value) ? undefined : CONTAINERD_MODES.join(' or '),
    ) as ContainerdMode | undefined,
    socket: file('socket'),
    stopPodsOnExit: parsed['stopPodsOnExit'] === true ? true : undefined,
  };
  const present = Object.entries(flags).filter(([, value]) => value !== undefined);
  return { flags: Object.fromEntries(present), problems };
}

type Check = (
  name: string,
  flag: string,
  expected: (value: string) => string | undefined,
) => string | undefined;

function deadContainerFlags(
  check: Check,
): Pick<
  AgentFlags,
  'minimumContainerTtlMs' | 'maximumDeadContainersPerContainer' | 'maximumDeadContainers'
> {
  const count = (name: string, flag: string): number | undefined => {
    const text = check(name, flag, (value) =>
      /^-?\d{1,9}$/.test(value) ? undefined : 'a whole number; negative for no limit',
    );
    return text === undefined ? undefined : Number(text);
  };
  const ttl = check('minimumContainerTtlDuration', '--minimum-container-ttl-duration', (value) =>
    (parseDuration(value) ?? -1) >= 0 ? undefined : 'a duration such as "1m"',
  );
  const perContainer = '--maximum-dead-containers-per-container';
  return {
    minimumContainerTtlMs: ttl === undefined ? undefined : parseDuration(ttl),
    maximumDeadContainersPerContainer: count('maximumDeadContainersPerContainer', perContainer),
    maximumDeadContainers: count('maximumDeadContainers', '--maximum-dead-containers'),
  };
}

function isMode(value: string): value is ContainerdMode {
  return (CONTAINERD_MODES as readonly string[]).includes(value);
}

/** One address, or one of each family. */
function nodeIpProblem(value: string): string | undefined {
  if (value === '') return undefined;
  const families = value.split(',').map(isIP);
  const valid = families.every((family) => family !== 0) && families.length <= 2;
  return valid && new Set(families).size === families.length
    ? undefined
    : 'an IP address, or one of IPv4 and one of IPv6 with a comma between';
}
