/**
 * Owns: the images of image volumes: pulled before the containers that mount them, once a sync, with the
 * policy, back-off and events of container images; and the refusal where the runtime has no image
 * volumes (spec: volumes.md §8).
 * Invariant: a container never runs with something else in the place of an image. containerd before 2.1
 * does not know image volumes (it fails over an empty host path, without a word about images), and 2.1 mounts the
 * whole image where a sub path of it was asked for.
 */
import { podTarget } from '../api/event.ts';
import type { Container, Pod, PullPolicy } from '../api/pod.ts';
import { WaitingReason } from '../api/reasons.ts';
import { runtimeText } from '../cri/errors.ts';
import type { RuntimeService, RuntimeVersion } from '../cri/model.ts';
import type { ImageOutcome, ImagePuller, ImageRequest } from '../image/puller.ts';

/** By volume name: what became of its image in this sync. */
export type VolumeImages = Map<string, ImageOutcome>;

export type VolumeImagesOutcome =
  /** What the runtime calls each image, by volume name. */
  | { readonly kind: 'ready'; readonly refs: ReadonlyMap<string, string> }
  | Extract<ImageOutcome, { kind: 'failed' }>
  /** The runtime cannot do it, or does not say whether it can. */
  | { readonly kind: 'refused'; readonly reason: WaitingReason; readonly message: string };

export interface VolumeImagesDeps {
  readonly runtime: Pick<RuntimeService, 'version'>;
  readonly puller: Pick<ImagePuller, 'ensure'>;
}

/** All that a request has besides its image. */
export type ImageRequestBase = Omit<ImageRequest, 'target' | 'image' | 'policy'>;

interface ImageVolume {
  readonly name: string;
  readonly field: string;
  readonly reference: string;
  readonly policy: PullPolicy;
}

/** Makes sure of the images that a container mounts. The last failure is the container's. */
export async function ensureVolumeImages(
  deps: VolumeImagesDeps,
  context: { readonly pod: Pod; readonly volumeImages: VolumeImages },
  container: Container,
  request: ImageRequestBase,
  signal: AbortSignal,
): Promise<VolumeImagesOutcome> {
  const { pod, volumeImages } = context;
  const refs = new Map<string, string>();
  const volumes = imageVolumesOf(pod, container);
  if (volumes.length === 0) return { kind: 'ready', refs };
  const problem = await problemOf(deps.runtime, container, volumes, signal);
  if (problem !== undefined) return refused(problem);
  let failed: Extract<ImageOutcome, { kind: 'failed' }> | undefined;
  for (const { name, reference, policy } of volumes) {
    const wanted = { ...request, target: podTarget(pod), image: reference, policy };
    const outcome = volumeImages.get(name) ?? (await deps.puller.ensure(wanted, signal));
    volumeImages.set(name, outcome);
    if (outcome.kind === 'failed') failed = outcome;
    else refs.set(name, outcome.image.id);
  }
  return failed ?? { kind: 'ready', refs };
}

/** Which field of the pod this runtime cannot honour, and why. */
async function problemOf(
  runtime: VolumeImagesDeps['runtime'],
  container: Container,
  volumes: readonly ImageVolume[],
  signal: AbortSignal,
): Promise<string | undefined> {
  let version: RuntimeVersion;
  try {
    // Asked each time, since the runtime may have been replaced under the agent; these starts are rare.
    version = await runtime.version(signal);
  } catch (error) {
    signal.throwIfAborted();
    return `${volumes[0]?.field}: ${runtimeText(error)}`;
  }
  const problem = imageVolumeProblem(version, 'whole');
  if (problem !== undefined) return `${volumes[0]?.field}: ${problem}`;
  const part = imageVolumeProblem(version, 'sub path');
  const mounts = container.volumeMounts ?? [];
  const index = mounts.findIndex(
    ({ name, subPath, subPathExpr }) =>
      (subPath || subPathExpr) && volumes.some((volume) => volume.name === name),
  );
  if (part === undefined || index < 0) return undefined;
  const field = mounts[index]?.subPath ? 'subPath' : 'subPathExpr';
  return `volumeMounts[${index}].${field} of container "${container.name}": ${part}`;
}

/** Why this runtime cannot mount images, or a part of one; undefined when it can, or nobody can tell. */
export function imageVolumeProblem(
  { runtimeName, runtimeVersion }: RuntimeVersion,
  what: 'whole' | 'sub path',
): string | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(runtimeVersion)?.map(Number) ?? [];
  if (runtimeName !== 'containerd' || major === undefined || minor === undefined) return undefined;
  const least = what === 'whole' ? 1 : 2;
  if (major > 2 || (major === 2 && minor >= least)) return undefined;
  const who = what === 'whole' ? 'image volumes need' : 'a sub path of an image volume needs';
  return `${who} containerd 2.${least} or later, this is containerd ${runtimeVersion}`;
}

export function pullSecretNames(pod: Pod): string[] {
  return (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
}

function refused(message: string): VolumeImagesOutcome {
  return { kind: 'refused', reason: WaitingReason.CreateContainerConfigError, message };
}

/** The image volumes that the container mounts, each once, in the order of the pod. */
function imageVolumesOf(pod: Pod, container: Container): ImageVolume[] {
  const mounted = new Set(container.volumeMounts?.map(({ name }) => name));
  return (pod.spec.volumes ?? []).flatMap(({ name, image }, index) => {
    if (!image || !mounted.has(name)) return [];
    const field = `spec.volumes[${index}].image`;
    const policy = (image.pullPolicy ?? 'IfNotPresent') as PullPolicy;
    return [{ name, field, reference: image.reference ?? '', policy }];
  });
}
