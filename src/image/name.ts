/**
 * Owns: what an image name may look like and what it means: the default tag and the error text for a
 * name that no registry could serve. The grammar is that of distribution references.
 */

export type ImageName =
  | {
      readonly kind: 'valid';
      /** With `:latest` when neither tag nor digest was given. */ readonly name: string;
    }
  | { readonly kind: 'invalid'; readonly message: string };

const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const HOST_LABEL = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const HOST = `(?:${HOST_LABEL}(?:\\.${HOST_LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const TAG = '[\\w][\\w.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const REFERENCE = new RegExp(
  `^((?:${HOST}/)?${COMPONENT}(?:/${COMPONENT})*)(?::(${TAG}))?(?:@(${DIGEST}))?$`,
);
const BARE_ID = /^[a-f0-9]{64}$/;
const LONGEST_REPOSITORY = 255;

/** Applies the default tag, or says why the name cannot be an image (spec: pod-lifecycle.md §8). */
export function normalizeImage(image: string): ImageName {
  const cause = problemOf(image);
  if (cause !== undefined) {
    const message = `couldn't parse image name "${image}": ${cause}`;
    return { kind: 'invalid', message: `Failed to apply default image tag "${image}": ${message}` };
  }
  const [, , tag, digest] = REFERENCE.exec(image) ?? [];
  return {
    kind: 'valid',
    name: tag === undefined && digest === undefined ? `${image}:latest` : image,
  };
}

function problemOf(image: string): string | undefined {
  if (BARE_ID.test(image)) {
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  }
  const match = REFERENCE.exec(image);
  if (match) {
    return (match[1]?.length ?? 0) > LONGEST_REPOSITORY
      ? 'repository name must not be more than 255 characters'
      : undefined;
  }
  if (REFERENCE.test(image.toLowerCase())) {
    const repository = image.replace(/@.*$/, '').replace(/:[^/]*$/, '');
    const full = repository.includes('/') ? repository : `library/${repository}`;
    return `invalid reference format: repository name (${full}) must be lowercase`;
  }
  return 'invalid reference format';
}
