/**
 * Owns: `islet render FILE`: what islet would ask the runtime for, without a runtime: the sandbox and the
 * containers of each pod, in the protocol's own field names. For people who compare, review or debug.
 * Leaves to others: pulling and mounting; an image is known by its name only, a pod has no address yet.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { Container, Pod } from '../api/pod.ts';
import type { Config } from '../config/model.ts';
import { containerConfigJson, sandboxConfigJson } from '../cri/render.ts';
import { normalizeImage } from '../image/name.ts';
import { loadManifest } from '../manifest/load.ts';
import { problemText } from '../manifest/model.ts';
import { systemPodCgroups } from '../pod/cgroups.ts';
import { containerConfig, containerSubPaths } from '../runtime/container-config.ts';
import type { EnvInput } from '../runtime/env.ts';
import type { NodeFacts } from '../runtime/node-facts.ts';
import { readNodeFacts } from '../runtime/node-facts.ts';
import { runtimeHandler, withOverhead } from '../runtime/runtime-class.ts';
import { sandboxConfig } from '../runtime/sandbox-config.ts';
import { SystemClock } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import { expectedVolumes } from '../volume/expected.ts';
import { containerDir, etcHostsPath, subPathTarget } from '../volume/paths.ts';
import type { Output } from './check.ts';
import { toYaml } from './yaml-output.ts';

export interface RenderOptions {
  readonly output: 'yaml' | 'json';
  /** Node name, directories and kubelet settings, as for `islet run`. */
  readonly config: Config;
  /** To describe another node than this one. */
  readonly facts?: Partial<NodeFacts>;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** What is only known once the pod runs. */
const POD_IP = '<pod-ip>';
const TERMINATION_LOG = '00000000';

interface Rendered {
  /** Field `runtime_handler` of RunPodSandbox; absent: the runtime's default one. */
  readonly runtime_handler?: string;
  readonly sandbox: object;
  readonly containers: Record<string, object>;
}

/**
 * Prints one object `{sandbox, containers: {NAME: …}}` a pod. Exit status: 0, or 1 when the file is
 * rejected or something of it could not be asked for, which stderr then names.
 */
export async function runRender(file: string, options: RenderOptions): Promise<number> {
  const { config, stdout, stderr, output } = options;
  const pods = loadPods(file, config.nodeName, stderr);
  if (!pods) return 1;
  let status = 0;
  const complain = (what: string, error: unknown): void => {
    // Anything but a fault of the manifest is a bug, and must not look like one.
    if (!(error instanceof IsletError)) throw error;
    stderr.write(`${file}: ${what}: ${messageOf(error)}\n`);
    status = 1;
  };
  const facts = { ...readNodeFacts(config), ...options.facts };
  for (const [index, pod] of pods.entries()) {
    const priced = withOverhead(pod, config.islet.runtimeClasses);
    const rendered = renderPod(priced, config, facts, complain);
    if (!rendered) continue;
    if (output === 'json') stdout.write(`${JSON.stringify(rendered)}\n`);
    else stdout.write(`${index > 0 ? '---\n' : ''}${await toYaml(rendered)}`);
  }
  return status;
}

/** undefined when the file is rejected; stderr says why. */
function loadPods(file: string, nodeName: string, stderr: Output): Pod[] | undefined {
  let content: Uint8Array;
  try {
    content = fs.readFileSync(file);
  } catch (error) {
    stderr.write(`${file}: cannot be read: ${messageOf(error)}\n`);
    return undefined;
  }
  const { documents, errors } = loadManifest(content, { path: path.resolve(file), nodeName });
  for (const problem of errors) stderr.write(`${problemText(problem, file)}\n`);
  if (errors.length > 0) return undefined;
  return documents.flatMap((document) => (document.kind === 'Pod' ? [document.pod] : []));
}

/** undefined when there is no sandbox, which leaves nothing to say. */
function renderPod(
  pod: Pod,
  config: Config,
  facts: NodeFacts,
  complain: (what: string, error: unknown) => void,
): Rendered | undefined {
  const { kubelet } = config;
  const deps = { facts, clock: new SystemClock() };
  try {
    const handler = runtimeHandler(pod, config.islet.runtimeClasses);
    const plan = sandboxConfig(pod, 0, {
      facts,
      cgroupParent: systemPodCgroups(kubelet, kubelet.cgroupDriver, deps).cgroupParent(pod),
      resolvConfText: readResolver(facts.resolvConf),
    });
    const containers: Record<string, object> = {};
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      try {
        containers[container.name] = renderContainer(pod, container, config, facts);
      } catch (error) {
        complain(`container ${container.name}`, error);
      }
    }
    return {
      ...(handler !== '' && { runtime_handler: handler }),
      sandbox: sandboxConfigJson(plan.config),
      containers,
    };
  } catch (error) {
    complain(`pod ${pod.metadata.name}`, error);
    return undefined;
  }
}

function readResolver(file: string): string {
  if (file === '') return '';
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (cause) {
    throw new IsletError('failed', `cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
}

function renderContainer(pod: Pod, container: Container, config: Config, facts: NodeFacts): object {
  const { rootDir } = facts;
  const { persistentVolumeDir } = config.islet;
  const { uid } = pod.metadata;
  const input: EnvInput = {
    pod,
    container,
    podIps: pod.spec.hostNetwork ? facts.nodeIps : [POD_IP],
    facts,
    volumes: expectedVolumes(pod, { rootDir, persistentVolumeDir }),
  };
  const subPaths = containerSubPaths(input).map(({ index, volumeName }): [number, string] => [
    index,
    subPathTarget(rootDir, uid, volumeName, container.name, index),
  ]);
  const image = normalizeImage(container.image ?? '');
  if (image.kind === 'invalid') throw new IsletError('invalid', image.message);
  const request = containerConfig({
    ...input,
    restartCount: 0,
    image: { ref: image.name, username: '' },
    subPaths: new Map(subPaths),
    terminationLogPath: path.join(containerDir(rootDir, uid, container.name), TERMINATION_LOG),
    hostsPath: etcHostsPath(rootDir, uid),
  });
  return containerConfigJson(request);
}
