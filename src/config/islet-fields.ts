/**
 * Owns: the fields of the second document, `kind: IsletConfiguration`, for what only islet has.
 *
 *   apiVersion: islet.dev/v1alpha1
 *   kind: IsletConfiguration
 *   containerd: auto            # auto | managed | external, as --containerd
 *   socketPath: islet.sock      # the CLI's socket; relative to this file; default <root-dir>/islet.sock
 *   maxParallelStarts: 4        # pods that start at once; default twice the cores
 *   persistentVolumeDir: /data   # directories of claims: <dir>/<namespace>/<claim>; default <root-dir>/persistent-volumes
 *   eventJournalSize: 5000      # events kept
 *   eventJournalMaxAge: 168h    # and for how long
 *   pauseImage: registry.k8s.io/pause:3.6   # sandbox image of a managed containerd
 *   imagePolicy: always-ask     # what `imagePullPolicy: Always` means when the registry cannot be reached:
 *                               # always-ask: no start, as the kubelet; newest-else-cached: the image in the store
 *   podSubnet: 10.88.0.0/16     # pod network of a managed containerd; default podCIDR if that is set
 *   runtimeClasses:             # what a pod's runtimeClassName may name; default none
 *   - name: kata
 *     handler: kata-qemu        # as the runtime's own configuration calls it
 *     overhead: {podFixed: {memory: 160Mi, cpu: 250m}}   # what a sandbox costs; optional
 *   staticPodEviction: true     # false: no static pod is ever evicted, as with the kubelet
 *   stopPodsOnExit: false       # true: SIGTERM and SIGINT end the pods too, by priority, as --stop-pods-on-exit
 */
import { bool, duration, form, int, list, map, object, oneOf, text } from './schema.ts';
import type { Fields } from './schema.ts';

export const ISLET_API_VERSION = 'islet.dev/v1alpha1';
export const ISLET_KIND = 'IsletConfiguration';
export const CONTAINERD_MODES = ['auto', 'managed', 'external'] as const;

export const IMAGE_POLICIES = ['always-ask', 'newest-else-cached'] as const;

export const ISLET_FIELDS: Fields = {
  containerd: oneOf(...CONTAINERD_MODES),
  socketPath: form('path'),
  maxParallelStarts: int(1, 1000),
  persistentVolumeDir: form('path'),
  eventJournalSize: int(1, 1_000_000),
  eventJournalMaxAge: duration(),
  pauseImage: text,
  podSubnet: form('cidr'),
  runtimeClasses: list(
    object({
      name: text,
      handler: text,
      overhead: object({ podFixed: map(form('quantity')) }),
    }),
  ),
  imagePolicy: oneOf(...IMAGE_POLICIES),
  staticPodEviction: bool,
  stopPodsOnExit: bool,
};
