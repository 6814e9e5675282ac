/**
 * usage: node build/test/support/manifest-fuzz.js [RUNS [SEED]]
 * Fuzzes the manifest decoder in a worker thread with a small heap, and says how it went. As a module: `fuzz`.
 * Bounds: memory is the worker's; an input may take CPU_LIMIT_MS of CPU time, which a busy machine does not
 * change much; an input that does not end at all is found by STUCK_MS of wall time, and named.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import fc from 'fast-check';
import { checkManifest, checkSecret, SECRET_SEEDS, SEEDS } from './manifest-property.ts';
import { damaged } from './manifest-mutation.ts';

export interface FuzzOptions {
  readonly runs: number;
  readonly seed: number;
  /** Largest piece that is put into a manifest, as a power of two bytes. */
  readonly largest: number;
  /** Ends early, without a failure. */
  readonly timeLimitMs?: number;
  /** Most CPU time for one input. */
  readonly cpuLimitMs?: number;
  readonly heapMb?: number;
  /** An input that is at work for so long never ends. */
  readonly stuckMs?: number;
}

export interface FuzzReport {
  readonly runs: number;
  readonly accepted: number;
  /** Most CPU time that one input took. */
  readonly slowestMs: number;
}

interface Progress {
  readonly options: FuzzOptions;
  /** Number of the input at work, from 1: of damaged manifests, then of Secrets. */
  readonly inputs: Int32Array;
}

const HEAP_MB = 256;
const CPU_LIMIT_MS = 1000;
const STUCK_MS = 60_000;
/** Costs about half of the CPU time that is allowed. */
const LARGEST = 18;
/** One in so many inputs is a Secret. */
const SECRETS = 10;

const corpus = path.resolve(import.meta.dirname, '../../../../shared/corpus/manifests');

if (!isMainThread && parentPort) {
  parentPort.postMessage(work(workerData as Progress));
} else if (process.argv[1] === import.meta.filename) {
  const [runs = '100000', seed = String(Date.now() % 2 ** 31)] = process.argv.slice(2);
  const started = performance.now();
  const report = await fuzz({ runs: Number(runs), seed: Number(seed), largest: LARGEST });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(
    `${report.runs} inputs from ${seedFiles().length} manifests in ${seconds} s, seed ${seed}: ` +
      `${report.accepted} accepted; the slowest took ${report.slowestMs.toFixed(0)} ms of CPU time`,
  );
}

/** Rejects with the seed and the number of the input when one breaks a rule, a bound, or never ends. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const inputs = new Int32Array(new SharedArrayBuffer(4));
  const progress: Progress = { options, inputs };
  const worker = new Worker(import.meta.filename, {
    workerData: progress,
    resourceLimits: { maxOldGenerationSizeMb: options.heapMb ?? HEAP_MB },
  });
  const place = (): string => `seed ${options.seed}, input ${inputs[0]}`;
  let last = -1;
  const { promise, resolve, reject } = settled<FuzzReport>();
  const { stuckMs = STUCK_MS } = options;
  const watch = setInterval(() => {
    if (inputs[0] === last) reject(new Error(`no end after ${stuckMs} ms: ${place()}`));
    last = inputs[0] ?? 0;
  }, stuckMs);
  worker.once('message', (report: FuzzReport | string) => {
    if (typeof report === 'string') reject(new Error(report));
    else resolve(report);
  });
  worker.once('error', (cause) => reject(new Error(`${cause.message}: ${place()}`, { cause })));
  try {
    return await promise;
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}

function settled<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
} {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** The report, or what went wrong. */
function work({ options, inputs }: Progress): FuzzReport | string {
  const { runs, seed, largest, timeLimitMs, cpuLimitMs = CPU_LIMIT_MS } = options;
  let accepted = 0;
  let slowestMs = 0;
  const measured = (check: () => boolean): void => {
    Atomics.add(inputs, 0, 1);
    const before = process.cpuUsage();
    if (check()) accepted += 1;
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1000;
    if (ms > cpuLimitMs) throw new Error(`took ${ms.toFixed(0)} ms of CPU time`);
    slowestMs = Math.max(slowestMs, ms);
  };
  const secrets = Math.ceil(runs / SECRETS);
  const parts: [fc.IProperty<[Buffer]>, number][] = [
    [
      fc.property(damaged(seedFiles(), { largest }), (bytes) =>
        measured(() => checkManifest(bytes)),
      ),
      runs - secrets,
    ],
    [
      fc.property(damaged(SECRET_SEEDS, { largest }), (bytes) =>
        measured(() => checkSecret(bytes)),
      ),
      secrets,
    ],
  ];
  let done = 0;
  for (const [property, numRuns] of parts) {
    const result = fc.check(property, {
      ...{ numRuns, seed, markInterruptAsFailure: false, endOnFailure: true },
      ...(timeLimitMs === undefined ? {} : { interruptAfterTimeLimit: timeLimitMs / parts.length }),
    });
    if (result.failed) return failureText(result, seed);
    done += result.numRuns;
  }
  return { runs: done, accepted, slowestMs };
}

function failureText(
  { counterexample, errorInstance }: fc.RunDetails<[Buffer]>,
  seed: number,
): string {
  const input = JSON.stringify(counterexample?.[0].subarray(0, 1000).toString('latin1'));
  const why = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `seed ${seed}: ${why}\ninput: ${input}`;
}

/** Those of the corpus where it is there, and always a few of ours. */
function seedFiles(): Buffer[] {
  try {
    const files = readdirSync(corpus).map((name) => readFileSync(path.join(corpus, name)));
    return [...SEEDS, ...files];
  } catch {
    return [...SEEDS];
  }
}
