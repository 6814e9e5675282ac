/**
 * Owns: which repository an image name means: what credentials are matched against and what may be
 * pulled with whose rights is remembered for. Pure.
 */

/** Docker's names for its own registry. */
const DEFAULT_HOSTS: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io']);
const DEFAULT_HOST = 'docker.io';

/**
 * The full repository of a valid image name, without tag and digest: `nginx:1` is
 * `docker.io/library/nginx`, `localhost/x@sha256:…` is `localhost/x`.
 */
export function repositoryOf(image: string): string {
  const bare = image.replace(/@.*$/s, '').replace(/:[^/:]*$/, '');
  const slash = bare.indexOf('/');
  const first = slash < 0 ? '' : bare.slice(0, slash);
  if (!isHost(first)) return `${DEFAULT_HOST}/${slash < 0 ? `library/${bare}` : bare}`;
  const rest = bare.slice(slash + 1);
  if (!DEFAULT_HOSTS.has(first)) return bare;
  return `${DEFAULT_HOST}/${rest.includes('/') ? rest : `library/${rest}`}`;
}

/** The repository with the tag or digest of the name: one spelling for every way to write it. */
export function fullImageName(image: string): string {
  const suffix = /(?::[^/:@]*)?(?:@.*)?$/s.exec(image)?.[0] ?? '';
  return repositoryOf(image) + suffix;
}

/** Whether the image is in Docker's registry. */
export function isDefaultRegistry(repository: string): boolean {
  return DEFAULT_HOSTS.has(repository.slice(0, Math.max(0, repository.indexOf('/'))));
}

/** The first part of a name is a host when nothing else could be written so. */
function isHost(first: string): boolean {
  return /[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first);
}
