/**
 * Owns: what the host can call. The core imports nothing, allocates nothing by itself and never traps
 * on the bytes it is given; the host side of every export is in src/wasm/.
 */
export { counters, prepare, recordsAt, reset, scan } from './pleg';
export { rank, rankPrepare } from './rank';
