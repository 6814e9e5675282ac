/**
 * Owns: finding, compiling and starting the Wasm core. Two builds of the same source lie side by side:
 * the release build runs, the debug build is there for tests.
 * Invariant: every call gives an instance of its own; instances share no memory.
 */
import { readFileSync } from 'node:fs';
import { IsletError } from '../util/errors.ts';

/** The exports of assembly/index.ts. Addresses and lengths are bytes in `memory`. */
export interface Core {
  readonly memory: WebAssembly.Memory;
  reset(seedLow: number, seedHigh: number): void;
  counters(): number;
  /** Where to write the lists, or an error code below 0. May replace `memory.buffer`. */
  prepare(total: number): number;
  /** The number of records, or an error code below 0. May replace `memory.buffer`. */
  scan(containersLength: number, sandboxesLength: number): number;
  recordsAt(): number;
  /** Where to write the columns of a ranking, or an error code below 0. May replace `memory.buffer`. */
  rankPrepare(count: number): number;
  /** 0, or an error code below 0. */
  rank(count: number, mode: number): number;
}

export type CoreBuild = 'release' | 'debug';

const FILES: Record<CoreBuild, string> = {
  release: '../../wasm/islet.wasm',
  debug: '../../wasm/islet.debug.wasm',
};

/** Compiles synchronously: it is a few kilobytes, once at the start. IsletError `failed` without it. */
export function loadCore(build: CoreBuild = 'release'): Core {
  const file = new URL(FILES[build], import.meta.url);
  try {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)));
    return instance.exports as unknown as Core;
  } catch (error) {
    throw new IsletError('failed', `load the Wasm core ${file.pathname}`, { cause: error });
  }
}
