/**
 * Owns: the manifests of ../shared/corpus on which islet differs from the upstream kubelet on purpose and
 * which compare.mjs does not count as differing by design: by their numbers, each with its reason.
 * Whoever compares checks that exactly these differ.
 */
export interface Deviations {
  /** Verdict and decoded pod. */
  readonly decode: Readonly<Record<string, string>>;
  /** Requests to the runtime. */
  readonly cri: Readonly<Record<string, string>>;
}

const NODE_ADDRESS =
  'a hostNetwork pod gets the node’s address as status.podIP; upstream has none without an API server and ' +
  'starts kube-apiserver with an empty --advertise-address';
const RANDOM_IDS = 'the host ids of a user namespace are chosen at random upstream';

export const DEVIATIONS: Deviations = {
  decode: {
    '097': 'a ConfigMap stands before the pod that uses it: islet reads both',
    '156': 'a ConfigMap and a Secret stand before the pod that uses them: islet reads all three',
  },
  cri: {
    '024': NODE_ADDRESS,
    '025': NODE_ADDRESS,
    '135': RANDOM_IDS,
    '222': RANDOM_IDS,
    '516': 'the second document is garbage: all documents count, so the file is rejected whole',
    '686':
      'a memory limit beyond 2^63 is cut to what a number holds, not wrapped to a negative one that the kernel refuses',
  },
};
