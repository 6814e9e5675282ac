/**
 * Owns: which pod a user means: `web`, `web-edge1`, `pod/web`, with or without a namespace.
 * Leaves to others: asking the agent (client.ts).
 */
import type { Pod } from '../api/pod.ts';
import { IsletError } from '../util/errors.ts';

/** The name of `NAME`, `pod/NAME`, `pods/NAME` or `po/NAME`. Throws IsletError `invalid`. */
export function podNameOf(text: string): string {
  const match = /^(?:(?:pods?|po)\/)?([^/]+)$/.exec(text);
  if (match?.[1]) return match[1];
  const message = `error: ${JSON.stringify(text)} names no pod: islet has only pods, as NAME or pod/NAME`;
  throw new IsletError('invalid', message);
}

/** Static pods carry the name of their node: what the manifest calls `web` is `web-<node>`. */
export function withNodeSuffix(name: string, nodeName: string): string {
  return `${name}-${nodeName.toLowerCase()}`;
}

/**
 * The one pod that `text` means; a full name is preferred to one that lacks the node's suffix.
 * Throws IsletError `not-found`, or `invalid` when pods in several namespaces have the name.
 */
export function findPod(pods: readonly Pod[], text: string, namespace?: string): Pod {
  const name = podNameOf(text);
  const inReach = pods.filter((pod) => !namespace || pod.metadata.namespace === namespace);
  const exact = inReach.filter((pod) => pod.metadata.name === name);
  const short = inReach.filter(
    (pod) => pod.metadata.name === withNodeSuffix(name, pod.spec.nodeName ?? ''),
  );
  const [found, ...others] = exact.length > 0 ? exact : short;
  if (!found) {
    throw new IsletError(
      'not-found',
      `Error from server (NotFound): pods ${JSON.stringify(name)} not found`,
    );
  }
  if (others.length === 0) return found;
  const namespaces = [found, ...others].map((pod) => pod.metadata.namespace).join(', ');
  throw new IsletError(
    'invalid',
    `error: pods named ${JSON.stringify(name)} are in several namespaces (${namespaces}): choose one with -n`,
  );
}
