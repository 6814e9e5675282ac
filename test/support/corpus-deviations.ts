/**
 * Owns: the manifests of ../shared/corpus on which islet differs from the upstream kubelet on purpose and
 * which compare.mjs does not count as differing by design: by their numbers, each with its reason.
 * Whoever compares checks that exactly these differ, and in this.
 */
export interface Deviation {
  readonly why: string;
  /** What every line of the comparison about this file looks like. */
  readonly line: RegExp;
}

export interface Deviations {
  /** Verdict and decoded pod. */
  readonly decode: Readonly<Record<string, Deviation>>;
  /** Requests to the runtime. */
  readonly cri: Readonly<Record<string, Deviation>>;
}

const READ: RegExp = /^accepted \(\) instead of rejected/;
const NODE_ADDRESS: Deviation = {
  why:
    'a hostNetwork pod gets the node’s address as status.podIP; upstream has none without an API server and ' +
    'starts kube-apiserver with an empty --advertise-address',
  line: /: "(--advertise-address=)?10\.0\.0\.2" instead of ("--advertise-address="|undefined)$/,
};
const RANDOM_IDS: Deviation = {
  why: 'the host ids of a user namespace are chosen at random upstream',
  line: /\.host_id: 65536 instead of \d+$/,
};

export const DEVIATIONS: Deviations = {
  decode: {
    '097': { why: 'a ConfigMap stands before the pod that uses it: islet reads both', line: READ },
    '156': {
      why: 'a ConfigMap and a Secret stand before the pod that uses them: islet reads all three',
      line: READ,
    },
  },
  cri: {
    '024': NODE_ADDRESS,
    '025': NODE_ADDRESS,
    '135': RANDOM_IDS,
    '222': RANDOM_IDS,
    '516': {
      why: 'the second document is garbage: all documents count, so the file is rejected whole',
      line: /^no answer: .*:17: not valid YAML/,
    },
    '686': {
      why:
        'a memory limit beyond 2^63 is cut to what a number holds, not wrapped to a negative one that the ' +
        'kernel refuses',
      line: /memory_(swap_)?limit_in_bytes: "9007199254740991" instead of "-\d+"$/,
    },
  },
};
