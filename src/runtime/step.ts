/**
 * Owns: the steps that a plan consists of. StepMap is the one place that lists them: the union, the
 * constructor and the executor's table all derive from it, so a new step cannot be forgotten.
 */

/** Why a container is killed; the text of the event follows from it. */
export type KillReason =
  | 'pod-stopping'
  | 'hash-changed'
  | 'object-changed'
  | 'unknown-state'
  | 'liveness'
  | 'startup'
  | 'post-start-hook';

export type ContainerRole = 'init' | 'sidecar' | 'regular';

export interface StepMap {
  /** Stop every container and every sandbox of the pod. */
  killPod: Record<never, never>;
  /** Stop one container with its grace period. */
  killContainer: { id: string; name: string; reason: KillReason; message: string };
  /** Stop several at once, without grace. */
  stopContainers: { ids: readonly string[] };
  /** Remove a record so that its container begins anew; `ended`: the run counts for the crash back-off. */
  resetContainer: { id: string; ended: boolean };
  /** Remove the record of a container that does not run, and its log when `withLogs`. */
  removeContainer: { id: string; withLogs: boolean };
  /** Stop and remove a sandbox that serves no container any more. */
  removeSandbox: { id: string };
  /** Create the sandbox that the following starts use. */
  createSandbox: { attempt: number; changed: boolean };
  /** Back-off check, image, create, start, post-start hook. */
  startContainer: { name: string; role: ContainerRole };
}

export type StepKind = keyof StepMap;
export type Step = { [K in StepKind]: { readonly kind: K } & Readonly<StepMap[K]> }[StepKind];

/** What each step does with its argument. */
export type StepTable<Context> = {
  [K in StepKind]: (argument: Readonly<StepMap[K]>, context: Context) => Promise<void>;
};

export function step<K extends StepKind>(kind: K, argument: StepMap[K]): Step {
  return { kind, ...argument } as unknown as Step;
}

/**
 * Whether a failure of the step ends the plan (spec: pod-lifecycle.md §4). Regular containers and
 * sidecars do not hold each other up; everything else is a precondition of what follows.
 */
export function endsPlan(failed: Step): boolean {
  switch (failed.kind) {
    case 'startContainer':
      return failed.role === 'init';
    case 'removeContainer':
    case 'removeSandbox':
      return false;
    case 'killPod':
    case 'killContainer':
    case 'stopContainers':
    case 'resetContainer':
    case 'createSandbox':
      return true;
  }
}
