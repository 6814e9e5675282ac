/**
 * Owns: the predicates of admission (spec static-pods.md §7.1) that are no matter of amounts: operating
 * system, groups policy, node affinity, node name, host ports.
 * Taints are not evaluated: a static pod tolerates NoExecute.
 */
import type { Container, Pod } from '../api/pod.ts';
import { isSidecar } from '../api/pod.ts';
import { AdmissionReason } from '../api/reasons.ts';
import type { AdmissionInput, Refusal } from './admission.ts';
import { matchesNode } from './node-affinity.ts';

const OS = 'linux';
const OS_LABEL = 'kubernetes.io/os';

export function predicates(input: AdmissionInput): Refusal | undefined {
  return foreign(input) ?? unfit(input);
}

/** Each of these alone says that the pod is none for this node. */
function foreign({ pod, node }: AdmissionInput): Refusal | undefined {
  const label = pod.metadata.labels?.[OS_LABEL];
  if (label !== undefined && label !== OS) {
    return {
      reason: AdmissionReason.PodOSSelectorNodeLabelDoesNotMatch,
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  if ((pod.spec.os?.name ?? OS) !== OS) {
    const message = "Failed to admit pod as the OS field doesn't match node OS";
    return { reason: AdmissionReason.PodOSNotSupported, message };
  }
  const strict = pod.spec.securityContext.supplementalGroupsPolicy === 'Strict';
  if (strict && !node.supplementalGroupsPolicy()) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
    return { reason: AdmissionReason.SupplementalGroupsPolicyNotSupported, message };
  }
  return undefined;
}

function unfit({ pod, node, others }: AdmissionInput): Refusal | undefined {
  const { nodeName } = pod.spec;
  if (!matchesNode(pod, node)) {
    return predicate(AdmissionReason.NodeAffinity, "didn't match Pod's node affinity/selector");
  }
  if (nodeName && nodeName !== node.name) {
    return predicate(AdmissionReason.NodeName, "didn't match the requested node name");
  }
  const taken = others.flatMap(hostPortsOf);
  if (hostPortsOf(pod).some((port) => taken.some((other) => clash(port, other)))) {
    return predicate(
      AdmissionReason.NodePorts,
      "didn't have free ports for the requested pod ports",
    );
  }
  return undefined;
}

function predicate(reason: AdmissionReason, text: string): Refusal {
  return { reason, message: `Predicate ${reason} failed: node(s) ${text}` };
}

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** Of what runs for as long as the pod does. */
function hostPortsOf(pod: Pod): HostPort[] {
  const { containers, initContainers = [] } = pod.spec;
  const of = ({ ports = [] }: Container): HostPort[] =>
    ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ hostIP, protocol, hostPort = 0 }) => ({
        ip: hostIP || ANY,
        protocol,
        port: hostPort,
      }));
  return [...containers, ...initContainers.filter(isSidecar)].flatMap(of);
}

const ANY = '0.0.0.0';

function clash(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === ANY || b.ip === ANY;
}
