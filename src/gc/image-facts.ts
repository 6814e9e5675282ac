/**
 * Owns: what each image of the runtime is to the node: pure, from the list of images, the
 * containers, and the pods that manifests ask for.
 *
 *   in use     a container has it, running or dead, or a pod that has not ended mounts it
 *   named      a manifest names it
 *   previous   the last used other image of a repository that a manifest names: the way back from an update
 */
import type { Pod } from '../api/pod.ts';
import { allContainers } from '../api/pod.ts';
import type { Container, Image } from '../cri/model.ts';
import { normalizeImage } from '../image/name.ts';
import { fullImageName, repositoryOf } from '../image/repository.ts';

export type Rank = 'other' | 'previous' | 'named';

/** By full name: whether some pod that names it may not pull it. */
export type NamedImages = ReadonlyMap<string, { readonly neverPulled: boolean }>;

export function namedImages(pods: readonly Pod[]): NamedImages {
  const named = new Map<string, { neverPulled: boolean }>();
  for (const pod of pods) {
    for (const { image, policy } of imagesOf(pod)) {
      const name = normalizeImage(image);
      if (name.kind === 'invalid') continue;
      for (const one of spellings(name.name)) {
        const neverPulled = policy === 'Never' || named.get(one)?.neverPulled === true;
        named.set(one, { neverPulled });
      }
    }
  }
  return named;
}

/** Names of the images that pods which have not ended mount as volumes. */
export function mountedImages(activePods: readonly Pod[]): Set<string> {
  const references = activePods.flatMap(({ spec }) =>
    (spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? []),
  );
  return new Set(
    references.map(normalizeImage).flatMap((n) => (n.kind === 'valid' ? spellings(n.name) : [])),
  );
}

function imagesOf(pod: Pod): { image: string; policy: string | undefined }[] {
  const volumes = (pod.spec.volumes ?? []).flatMap(({ image }) =>
    image?.reference ? [{ image: image.reference, policy: image.pullPolicy }] : [],
  );
  const containers = allContainers(pod).map(({ image = '', imagePullPolicy: policy }) => ({
    ...{ image, policy },
  }));
  return [...containers, ...volumes];
}

/** A name with both a tag and a digest is kept by the runtime under the digest. */
function spellings(name: string): string[] {
  const full = fullImageName(name);
  const digest = /@.*$/s.exec(full)?.[0];
  return digest === undefined ? [full] : [full, repositoryOf(full) + digest];
}

/** Every name of an image, in full. */
export function namesOf({ repoTags, repoDigests }: Image): string[] {
  return [...repoTags, ...repoDigests].map(fullImageName);
}

/** Ids of the images that containers or `mounted` names refer to. */
export function imagesInUse(
  images: readonly Image[],
  containers: readonly Pick<Container, 'image' | 'imageRef'>[],
  mounted: ReadonlySet<string>,
): Set<string> {
  const references = new Set(containers.flatMap(({ image, imageRef }) => [image, imageRef]));
  const isUsed = (image: Image): boolean =>
    [image.id, ...image.repoTags, ...image.repoDigests].some((name) => references.has(name)) ||
    namesOf(image).some((name) => mounted.has(name));
  return new Set(images.filter(isUsed).map(({ id }) => id));
}

/** `stampOf`: the greater the later it was used; undefined: never. */
export function ranksOf(
  images: readonly Image[],
  named: NamedImages,
  stampOf: (id: string) => number | undefined,
): Map<string, Rank> {
  const ranks = new Map<string, Rank>();
  for (const image of images)
    ranks.set(image.id, namesOf(image).some((name) => named.has(name)) ? 'named' : 'other');
  for (const repository of new Set([...named.keys()].map(repositoryOf))) {
    let last: { id: string; stamp: number } | undefined;
    for (const image of images) {
      if (ranks.get(image.id) === 'named') continue;
      if (!namesOf(image).some((name) => repositoryOf(name) === repository)) continue;
      const stamp = stampOf(image.id);
      if (stamp !== undefined && stamp > (last?.stamp ?? -Infinity)) last = { id: image.id, stamp };
    }
    if (last) ranks.set(last.id, 'previous');
  }
  return ranks;
}
