/**
 * Owns: how long each kind of call may take (spec: cri-mapping.md §1). All values are milliseconds;
 * Infinity: no deadline.
 */

/** RunPodSandbox sets up the network, which plugins take their time for. */
export function runPodSandboxTimeout(requestTimeoutMs: number): number {
  return 2 * requestTimeoutMs;
}

/** The runtime answers only after the grace period has run out. */
export function stopContainerTimeout(requestTimeoutMs: number, graceSeconds: number): number {
  return requestTimeoutMs + Math.max(0, graceSeconds) * 1000;
}

/** `timeoutSeconds` 0: the command may run for ever, and so may the call. */
export function execSyncTimeout(requestTimeoutMs: number, timeoutSeconds: number): number {
  return timeoutSeconds > 0 ? requestTimeoutMs + timeoutSeconds * 1000 : Infinity;
}

/** Opening a file; until it is done, what a container writes goes to a log that nobody bounds. */
export function reopenContainerLogTimeout(requestTimeoutMs: number): number {
  return Math.min(requestTimeoutMs, 10_000);
}

/** A pull is as slow as the line; whoever started it decides when to give up, by its signal. */
export const PULL_IMAGE_TIMEOUT = Infinity;
