/**
 * Owns: `islet render FILE…`: what islet would ask the runtime for, without a runtime: the sandbox and the
 * containers of each pod, in the protocol's own field names. For people who compare, review or debug.
 * Invariant: the value of a Secret is a placeholder that names it.
 * Leaves to others: pulling and mounting; an image is known by its name only, a pod has no address yet; the
 * node (render-node.ts).
 */
import path from 'node:path';
import type { ConfigObjects } from '../api/config-object.ts';
import type { Container, Pod } from '../api/pod.ts';
import { allContainers } from '../api/pod.ts';
import { containerConfigJson, sandboxConfigJson } from '../cri/render.ts';
import { normalizeImage } from '../image/name.ts';
import { loadManifest } from '../manifest/load.ts';
import { readWhole } from '../manifest/read-whole.ts';
import type { LoadedDocument } from '../manifest/model.ts';
import { problemText } from '../manifest/model.ts';
import { previewObjects } from '../manifest/object.ts';
import { podCgroupParent } from '../pod/cgroup-name.ts';
import { containerConfig, containerSubPaths } from '../runtime/container-config.ts';
import type { EnvInput } from '../runtime/env.ts';
import { wantsUserNamespace } from '../runtime/namespaces.ts';
import { runtimeHandler, withOverhead } from '../runtime/runtime-class.ts';
import { sandboxConfig } from '../runtime/sandbox-config.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import { expectedVolumes } from '../volume/expected.ts';
import { containerDir, etcHostsPath, subPathTarget } from '../volume/paths.ts';
import type { Output } from './check.ts';
import type { RenderNode } from './render-node.ts';
import { renderNode } from './render-node.ts';
import { toYaml } from './yaml-output.ts';

export interface RenderOptions {
  readonly output: 'yaml' | 'json';
  readonly node: RenderNode;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** What is only known once the pod runs. */
const POD_IP = '<pod-ip>';
const TERMINATION_LOG = '00000000';
/** A pod gets a free range of its own; this is the first. */
const USER_NAMESPACE = [{ containerId: 0, hostId: 65_536, length: 65_536 }];

interface Rendered {
  /** Field `runtime_handler` of RunPodSandbox; absent: the runtime's default one. */
  readonly runtime_handler?: string;
  readonly sandbox: object;
  readonly containers: Record<string, object>;
}

interface Surroundings {
  readonly node: RenderNode;
  readonly objects: ConfigObjects;
  readonly complain: (what: string, error: unknown) => void;
}

/** The command; `parsed` is what commander's `opts()` returns. */
export async function renderCommand(
  files: string[],
  parsed: Readonly<Record<string, unknown>>,
  { stdout, stderr }: Pick<RenderOptions, 'stdout' | 'stderr'>,
): Promise<number> {
  let node: RenderNode;
  try {
    node = renderNode(parsed);
  } catch (error) {
    if (!(error instanceof IsletError)) throw error;
    stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
  const output = parsed['output'] === 'json' ? 'json' : 'yaml';
  return runRender(files, { output, node, stdout, stderr });
}

/**
 * Prints one object `{sandbox, containers: {NAME: …}}` a pod. ConfigMaps and Secrets are those of all the
 * files. Exit status: 0, or 1 when a file is rejected or something could not be asked for; stderr says what.
 */
export async function runRender(files: string[], options: RenderOptions): Promise<number> {
  const { node, stdout, stderr, output } = options;
  const loaded = files.map((file) => ({ file, documents: load(file, node, stderr) }));
  let status = loaded.some(({ documents }) => documents === undefined) ? 1 : 0;
  const objects = previewObjects(loaded.flatMap(({ documents }) => documents ?? []));
  let printed = 0;
  for (const { file, documents = [] } of loaded) {
    const complain = (what: string, error: unknown): void => {
      // Anything but a fault of the manifest is a bug, and must not look like one.
      if (!(error instanceof IsletError)) throw error;
      stderr.write(`${file}: ${what}: ${messageOf(error)}\n`);
      status = 1;
    };
    for (const document of documents) {
      if (document.kind !== 'Pod') continue;
      const pod = withOverhead(document.pod, node.config.islet.runtimeClasses);
      const rendered = renderPod(pod, { node, objects, complain });
      if (!rendered) continue;
      if (output === 'json') stdout.write(`${JSON.stringify(rendered)}\n`);
      else stdout.write(`${printed > 0 ? '---\n' : ''}${await toYaml(rendered)}`);
      printed += 1;
    }
  }
  return status;
}

/** undefined when the file is rejected; stderr says why. */
function load(file: string, node: RenderNode, stderr: Output): LoadedDocument[] | undefined {
  let content: Uint8Array;
  try {
    content = readWhole(file);
  } catch (error) {
    stderr.write(`${file}: cannot be read: ${messageOf(error)}\n`);
    return undefined;
  }
  const { nodeName } = node.config;
  const { documents, errors } = loadManifest(content, { path: path.resolve(file), nodeName });
  for (const problem of errors) stderr.write(`${problemText(problem, file)}\n`);
  return errors.length > 0 ? undefined : documents;
}

/** undefined when there is no sandbox, which leaves nothing to say. */
function renderPod(pod: Pod, surroundings: Surroundings): Rendered | undefined {
  const { node, complain } = surroundings;
  try {
    const handler = runtimeHandler(pod, node.config.islet.runtimeClasses);
    const plan = sandboxConfig(pod, 0, {
      facts: node.facts,
      cgroupParent: podCgroupParent(pod, node.config.kubelet),
      resolvConfText: node.resolvConfText(),
      ...userNamespace(pod),
    });
    const containers: Record<string, object> = {};
    for (const container of allContainers(pod)) {
      try {
        containers[container.name] = renderContainer(pod, container, surroundings);
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

function renderContainer(pod: Pod, container: Container, surroundings: Surroundings): object {
  const { facts, config } = surroundings.node;
  const { rootDir } = facts;
  const { persistentVolumeDir } = config.islet;
  const { uid } = pod.metadata;
  const input: EnvInput = {
    pod,
    container,
    podIps: pod.spec.hostNetwork ? facts.nodeIps : [POD_IP],
    facts,
    volumes: expectedVolumes(pod, { rootDir, persistentVolumeDir }),
    objects: surroundings.objects,
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
    ...userNamespace(pod),
  });
  return containerConfigJson(request);
}

function userNamespace(pod: Pod): { userns?: typeof USER_NAMESPACE } {
  return wantsUserNamespace(pod) ? { userns: USER_NAMESPACE } : {};
}
