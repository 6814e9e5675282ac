/**
 * Owns: the v1 defaults that reach a static pod (spec static-pods §3.2), filled in after decoding and
 * before the uid is made, so that writing a default out changes nothing.
 */
import type {
  Container,
  HttpGetAction,
  Pod,
  PodSpec,
  Probe,
  ResourceRequirements,
} from '../api/pod.ts';
import { isPodLevelResource, amountsOf, amountsText, podLimits, podRequests } from '../api/qos.ts';
import { formatQuantity, roundUpToMilli } from '../api/quantity.ts';
import type { ProjectedSourceItem, Volume } from '../api/volume.ts';
import { defaultPullPolicy } from './image-tag.ts';

/** `rw-r--r--` */
const DEFAULT_MODE = 0o644;
const TOKEN_EXPIRATION_SECONDS = 3600;

/** Fills defaults in place; the pod is fresh from decoding and nobody else's yet. */
export function setDefaults(pod: Pod): void {
  const { spec } = pod;
  setSpecDefaults(spec);
  for (const container of allContainers(spec)) setContainerDefaults(container);
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume);
  for (const constraint of spec.topologySpreadConstraints ?? []) {
    // Absent and zero are the same there.
    constraint.maxSkew ??= 0;
  }
  if (spec.hostNetwork) setHostPorts(spec);
  setResourceDefaults(spec);
}

export function allContainers(spec: PodSpec): Container[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
}

function setSpecDefaults(spec: PodSpec): void {
  spec.containers ??= [];
  spec.restartPolicy ??= 'Always';
  spec.dnsPolicy ??= 'ClusterFirst';
  spec.terminationGracePeriodSeconds ??= 30;
  // Upstream reads a negative period as the shortest one.
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  spec.securityContext ??= {};
  spec.schedulerName ??= 'default-scheduler';
  spec.enableServiceLinks ??= true;
  // The deprecated name and the new one are one field; the new one wins.
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  if (account !== undefined) spec.serviceAccountName = spec.serviceAccount = account;
}

function setContainerDefaults(container: Container): void {
  container.imagePullPolicy ??= defaultPullPolicy(container.image);
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  for (const port of container.ports ?? []) port.protocol ??= 'TCP';
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ??= 'v1';
    if (valueFrom?.resourceFieldRef) valueFrom.resourceFieldRef.divisor ??= '0';
    if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
  }
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  for (const probe of [livenessProbe, readinessProbe, startupProbe]) {
    if (probe) setProbeDefaults(probe);
  }
  setHttpDefaults(lifecycle?.postStart?.httpGet);
  setHttpDefaults(lifecycle?.preStop?.httpGet);
}

function setProbeDefaults(probe: Probe): void {
  probe.timeoutSeconds ??= 1;
  probe.periodSeconds ??= 10;
  probe.successThreshold ??= 1;
  probe.failureThreshold ??= 3;
  if (probe.grpc) probe.grpc.service ??= '';
  setHttpDefaults(probe.httpGet);
}

function setHttpDefaults(action: HttpGetAction | undefined): void {
  if (!action) return;
  action.path ??= '/';
  action.scheme ??= 'HTTP';
}

function setVolumeDefaults(volume: Volume): void {
  if (Object.keys(volume).every((key) => key === 'name')) volume.emptyDir = {};
  if (volume.hostPath) volume.hostPath.type ??= '';
  for (const source of [volume.configMap, volume.secret, volume.downwardAPI, volume.projected]) {
    if (source) source.defaultMode ??= DEFAULT_MODE;
  }
  if (volume.image) volume.image.pullPolicy ??= defaultPullPolicy(volume.image.reference);
  setDownwardDefaults(volume.downwardAPI);
  for (const source of volume.projected?.sources ?? []) {
    setDownwardDefaults(source.downwardAPI);
    if (source.serviceAccountToken) {
      source.serviceAccountToken.expirationSeconds ??= TOKEN_EXPIRATION_SECONDS;
    }
  }
  setForeignDefaults(volume);
}

function setDownwardDefaults(source: ProjectedSourceItem['downwardAPI']): void {
  for (const { fieldRef, resourceFieldRef } of source?.items ?? []) {
    if (fieldRef) fieldRef.apiVersion ??= 'v1';
    if (resourceFieldRef) resourceFieldRef.divisor ??= '0';
  }
}

function setForeignDefaults(volume: Volume): void {
  const { iscsi, rbd, azureDisk, scaleIO, ephemeral } = volume;
  if (iscsi) iscsi.iscsiInterface ??= 'default';
  if (rbd) {
    rbd.pool ??= 'rbd';
    rbd.user ??= 'admin';
    rbd.keyring ??= '/etc/ceph/keyring';
  }
  if (azureDisk) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.kind ??= 'Shared';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
  }
  if (scaleIO) {
    scaleIO.storageMode ??= 'ThinProvisioned';
    scaleIO.fsType ??= 'xfs';
  }
  const claim = ephemeral?.volumeClaimTemplate as { spec?: Record<string, unknown> } | undefined;
  if (claim?.spec) claim.spec.volumeMode ??= 'Filesystem';
}

function setHostPorts(spec: PodSpec): void {
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const port of container.ports ?? []) port.hostPort ??= port.containerPort;
  }
}

function setResourceDefaults(spec: PodSpec): void {
  for (const container of allContainers(spec)) roundLists(container.resources);
  if (spec.overhead) spec.overhead = rounded(spec.overhead);
  for (const { resources } of [...spec.containers, ...(spec.initContainers ?? [])]) {
    if (resources.limits) resources.requests = { ...resources.limits, ...resources.requests };
  }
  if (!spec.resources) return;
  roundLists(spec.resources);
  setPodLevelDefaults(spec, spec.resources);
}

function roundLists(resources: ResourceRequirements | undefined): void {
  if (resources?.limits) resources.limits = rounded(resources.limits);
  if (resources?.requests) resources.requests = rounded(resources.requests);
}

function rounded(list: Record<string, string>): Record<string, string> {
  const amounts = [...amountsOf(list)];
  return Object.fromEntries(
    amounts.map(([name, amount]) => [name, formatQuantity(roundUpToMilli(amount))]),
  );
}

/**
 * What the containers say fills what the pod level leaves open: huge page limits first, then
 * requests, and last requests from the pod level's own limits.
 */
function setPodLevelDefaults(spec: PodSpec, resources: ResourceRequirements): void {
  const { limits = {}, requests = {} } = resources;
  if (Object.keys(limits).length === 0 && Object.keys(requests).length === 0) return;
  const options = { withoutPodLevel: true, withoutOverhead: true };
  const containerLimits = amountsText(podLimits({ spec }, options));
  for (const [name, amount] of Object.entries(containerLimits)) {
    if (name.startsWith('hugepages-') && !(name in requests)) limits[name] ??= amount;
  }
  if (Object.keys(limits).length > 0) {
    resources.limits = limits;
    const containerRequests = amountsText(podRequests({ spec }, options));
    for (const [name, amount] of Object.entries(containerRequests)) {
      if (name === 'cpu' || name === 'memory') requests[name] ??= amount;
    }
    for (const [name, amount] of Object.entries(limits)) {
      if (isPodLevelResource(name)) requests[name] ??= amount;
    }
  }
  if (Object.keys(requests).length > 0) resources.requests = requests;
}
