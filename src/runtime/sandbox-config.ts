/**
 * Owns: what RunPodSandbox is asked for (spec cri-mapping.md §2). Pure: the node, the resolver file and
 * the cgroup are handed in.
 */
import path from 'node:path';
import type { Container, Pod } from '../api/pod.ts';
import { Label } from '../api/reasons.ts';
import type { IdMapping, PortMapping, SandboxConfig } from '../cri/model.ts';
import type { DnsWarning } from './dns.ts';
import { podDns } from './dns.ts';
import { sandboxHostname } from './hostname.ts';
import { namespaceOptions } from './namespaces.ts';
import type { NodeFacts } from './node-facts.ts';
import { overheadResources, sandboxResources } from './resources.ts';
import { sandboxSecurity } from './security.ts';
import { dottedSysctl } from './sysctl.ts';

export interface SandboxContext {
  readonly facts: NodeFacts;
  /** From `PodCgroups.cgroupParent(pod)`. */
  readonly cgroupParent: string;
  /** Text of `facts.resolvConf`, read for every sandbox; '' when that is ''. */
  readonly resolvConfText: string;
  /** Id mappings of the pod's user namespace; without them a pod that asks for one is refused. */
  readonly userns?: readonly IdMapping[] | undefined;
}

export interface SandboxPlan {
  readonly config: SandboxConfig;
  /** To be recorded as Warning events on the pod (and on the node where they say so). */
  readonly warnings: readonly DnsWarning[];
}

/** @throws ConfigError when the manifest cannot be honoured on this node. */
export function sandboxConfig(pod: Pod, attempt: number, context: SandboxContext): SandboxPlan {
  const { facts } = context;
  const { name, namespace, uid, labels, annotations } = pod.metadata;
  const { dns, warnings } = podDns(pod, facts, context.resolvConfText);
  const overhead = overheadResources(pod, facts);
  const config: SandboxConfig = {
    metadata: { name, namespace, uid, attempt },
    hostname: sandboxHostname(pod, facts.clusterDomain),
    logDirectory: podLogDirectory(pod, facts.podLogsDir),
    dns,
    portMappings: pod.spec.containers.flatMap(portMappings),
    labels: {
      ...labels,
      [Label.podName]: name,
      [Label.podNamespace]: namespace,
      [Label.podUid]: uid,
    },
    annotations: { ...annotations },
    cgroupParent: context.cgroupParent,
    sysctls: sysctls(pod),
    resources: sandboxResources(pod, facts),
    ...(overhead && { overhead }),
    security: sandboxSecurity(pod, namespaceOptions(pod, context.userns)),
  };
  return { config, warnings };
}

/** `<podLogsDir>/<namespace>_<name>_<uid>`, the directory of the pod's log files. */
export function podLogDirectory(pod: Pod, podLogsDir: string): string {
  const { namespace, name, uid } = pod.metadata;
  return path.join(podLogsDir, `${namespace}_${name}_${uid}`);
}

/** Of regular containers; a port that repeats the name (or the numbers) of another is left out. */
function portMappings(container: Container): PortMapping[] {
  const seen = new Set<string>();
  return (container.ports ?? []).flatMap((port) => {
    const { containerPort, protocol, hostPort = 0, hostIP = '' } = port;
    const id = port.name || `${protocol} ${hostIP} ${containerPort} ${hostPort}`;
    if (seen.has(id)) return [];
    seen.add(id);
    return [{ protocol, containerPort, hostPort, hostIp: hostIP }];
  });
}

function sysctls(pod: Pod): Record<string, string> {
  const list = pod.spec.securityContext.sysctls ?? [];
  return Object.fromEntries(list.map(({ name, value }) => [dottedSysctl(name), value]));
}
