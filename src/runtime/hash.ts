/**
 * Owns: the container hash, kept as annotation on each container. A running container whose hash
 * differs from its manifest's is replaced, so the value must stay the same over releases, and equal to
 * the kubelet's: containers that a kubelet left running are adopted, not restarted.
 */
import type { Container } from '../api/pod.ts';
import { fnv1a32 } from '../util/fnv.ts';

/**
 * FNV-1a-32 in lower-case hex without padding (spec: pod-lifecycle.md §4). What is hashed is not the
 * JSON of `{image, name}` but the dump of its bytes as the kubelet's printer writes them.
 */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  const json = JSON.stringify({ image: container.image ?? '', name: container.name });
  return fnv1a32(`([]uint8)[${Buffer.from(goJson(json), 'utf8').join(' ')}]`).toString(16);
}

/** Go's JSON writer escapes these for HTML; JavaScript's does not. */
function goJson(json: string): string {
  return json.replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** JSON as Go's encoder writes it: for annotations whose text other tools compare. */
export function goJsonOf(value: unknown): string {
  return goJson(JSON.stringify(value));
}
