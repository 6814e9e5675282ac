/**
 * The relist core on 100, 1,000 and 10,000 containers: the Wasm core on raw bytes against decoding the
 * same bytes in JavaScript. Entries are as large as containerd's (850 bytes, labels and annotations of
 * the kubelet). Prints medians, and the best of no change: on a busy machine that is what the core itself
 * costs, so the budget is held against it. Exits 1 when it is broken.
 */
import { fromBinary } from '@bufbuild/protobuf';
import {
  ListContainersResponseSchema,
  ListPodSandboxResponseSchema,
} from '../../src/cri/gen/cri_pb.ts';
import { loadCore } from '../../src/wasm/core.ts';
import { Relister } from '../../src/wasm/relister.ts';
import { encodeContainerList, encodeSandboxList } from '../support/wire.ts';

const BUDGET_MS = 2;
const SIZES = [100, 1_000, 10_000];

interface Row {
  readonly containers: number;
  readonly MiB: string;
  readonly 'wasm, no change (ms)': string;
  readonly 'best (ms)': string;
  readonly 'wasm, 1 changed (ms)': string;
  readonly 'wasm, 1 replaced (ms)': string;
  readonly 'decode in JS (ms)': string;
  readonly 'times slower': string;
}

function hex(kind: string, n: number): string {
  return `${kind}${n.toString(16)}`.padStart(64, '5e1f0c9a7b3d2846');
}

function containerList(count: number, options: { changed?: number; first?: number } = {}) {
  const first = options.first ?? 0;
  return encodeContainerList(
    Array.from({ length: count }, (_, i) => {
      const n = i + first;
      return {
        id: hex('c', n),
        sandboxId: hex('a', n),
        name: `container-${n}`,
        image: `sha256:${hex('f', 7)}`,
        state: n === options.changed ? 2 : 1,
        createdAt: 1_700_000_000_000_000_000n + BigInt(n),
        labels: labels(n),
        annotations: annotations(n),
      };
    }),
  );
}

function sandboxList(count: number) {
  return encodeSandboxList(
    Array.from({ length: count }, (_, i) => ({
      id: hex('a', i),
      name: `pod-${i}`,
      namespace: 'default',
      uid: uid(i),
      createdAt: 1_700_000_000_000_000_000n + BigInt(i),
      labels: labels(i),
      annotations: annotations(i),
    })),
  );
}

function uid(n: number): string {
  return `3f8e1c52-77aa-4bde-9a10-${n.toString(16).padStart(12, '0')}`;
}

function labels(n: number): Record<string, string> {
  return {
    'io.kubernetes.container.name': `container-${n}`,
    'io.kubernetes.pod.name': `pod-${n}`,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': uid(n),
  };
}

function annotations(n: number): Record<string, string> {
  return {
    'io.kubernetes.container.hash': (n * 2654435761).toString(16).slice(-8),
    'io.kubernetes.container.restartCount': '0',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.terminationGracePeriod': '30',
    'io.kubernetes.container.ports': '[{"name":"http","containerPort":8080,"protocol":"TCP"}]',
  };
}

/** Milliseconds of `run`, after a warm-up; `run` is called with a growing number. */
function timed(rounds: number, run: (round: number) => void): { median: number; best: number } {
  for (let i = 0; i < 10; i++) run(i);
  const times = Array.from({ length: rounds }, (_, i) => {
    const start = performance.now();
    run(i + 10);
    return performance.now() - start;
  }).sort((a, b) => a - b);
  return { median: times[Math.floor(rounds / 2)] ?? Number.NaN, best: times[0] ?? Number.NaN };
}

function measure(count: number): Row & { readonly best: number } {
  const base = containerList(count);
  const changed = containerList(count, { changed: 3 });
  const replaced = containerList(count, { first: 1 });
  const sandboxes = sandboxList(Math.min(count, 100));
  const relister = new Relister({ core: loadCore(), random: () => 0.5 });
  const rounds = count >= 10_000 ? 51 : 301;
  const noChange = timed(rounds, () => relister.relist(base, sandboxes));
  const oneChanged = timed(rounds, (i) => relister.relist(i % 2 ? changed : base, sandboxes));
  const oneReplaced = timed(rounds, (i) => relister.relist(i % 2 ? replaced : base, sandboxes));
  const decode = timed(count >= 10_000 ? 11 : 51, () => {
    fromBinary(ListContainersResponseSchema, base);
    fromBinary(ListPodSandboxResponseSchema, sandboxes);
  });
  return {
    containers: count,
    MiB: ((base.length + sandboxes.length) / 2 ** 20).toFixed(2),
    'wasm, no change (ms)': noChange.median.toFixed(3),
    'best (ms)': noChange.best.toFixed(3),
    'wasm, 1 changed (ms)': oneChanged.median.toFixed(3),
    'wasm, 1 replaced (ms)': oneReplaced.median.toFixed(3),
    'decode in JS (ms)': decode.median.toFixed(2),
    'times slower': (decode.median / noChange.median).toFixed(0),
    best: noChange.best,
  };
}

const rows = SIZES.map(measure);
console.table(rows.map(({ best: _, ...row }) => row));
const largest = rows.at(-1)?.best ?? Number.NaN;
if (!(largest <= BUDGET_MS)) {
  console.error(
    `over budget: ${largest.toFixed(2)} ms for 10,000 containers, ${BUDGET_MS} allowed`,
  );
  process.exitCode = 1;
}
