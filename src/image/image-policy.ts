/**
 * Owns: what `imagePullPolicy: Always` means where the registry cannot be reached: the node's setting,
 * or the pod's annotation `islet.dev/image-policy`. Pure.
 *
 * - `always-ask`: no start without the registry's word, as the kubelet.
 * - `newest-else-cached`: the image in the store, with a warning event.
 */
import { Annotation } from '../api/reasons.ts';
import { IMAGE_POLICIES } from '../config/islet-fields.ts';
import type { ImagePolicy } from '../config/model.ts';

/** `problem`: what is wrong with the annotation, when it is not followed. */
export function imagePolicyOf(
  annotation: string | undefined,
  node: ImagePolicy,
): { policy: ImagePolicy; problem?: string } {
  if (annotation === undefined) return { policy: node };
  const policy = IMAGE_POLICIES.find((known) => known === annotation);
  if (policy) return { policy };
  const field = `metadata.annotations["${Annotation.imagePolicy}"]`;
  const found = JSON.stringify(annotation.slice(0, 60));
  const problem = `${field}: found ${found}, expected ${IMAGE_POLICIES.join(' or ')}; the node's ${node} counts`;
  return { policy: node, problem };
}
