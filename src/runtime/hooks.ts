/**
 * Owns: running a lifecycle handler (spec: pod-lifecycle.md §9.1): exec, httpGet, sleep.
 * Invariant: what a hook prints reaches nobody but the first part of it, in the text of its failure.
 * Leaves to others: when a hook runs, how long it may take and what its failure means.
 */
import type { EventRecorder, EventTarget } from '../api/event.ts';
import type { LifecycleHandler } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import { runtimeText } from '../cri/errors.ts';
import type { ExecResult, RuntimeService } from '../cri/model.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import type * as HttpModule from './hook-http.ts';
import type { HttpHookTarget } from './hook-http.ts';

export interface HookDeps {
  readonly runtime: Pick<RuntimeService, 'execSync'>;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

export interface HookTarget extends HttpHookTarget {
  readonly containerId: string;
  readonly containerName: string;
  /** What events about the container name. */
  readonly event: EventTarget;
}

const OUTPUT_SHOWN = 1024;

/** @throws IsletError `failed` or `invalid` with the text for users. */
export async function runHook(
  deps: HookDeps,
  handler: LifecycleHandler,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  if (handler.exec) return runExec(deps, handler.exec.command ?? [], target, signal);
  if (handler.httpGet) return runHttpGet(deps, handler.httpGet, target, signal);
  if (handler.sleep) return runSleep(deps, handler.sleep.seconds, target, signal);
  // The API accepts tcpSocket here, and no handler at all in a container's annotation.
  throw new IsletError('invalid', 'invalid handler: only exec, httpGet and sleep can run');
}

async function runExec(
  deps: HookDeps,
  command: string[],
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  const what = `Exec lifecycle hook (${shown(command)})`;
  let result: ExecResult;
  try {
    result = await deps.runtime.execSync(target.containerId, command, 0, signal);
  } catch (cause) {
    throw failed(what, target, runtimeText(cause), cause);
  }
  if (result.exitCode === 0) return;
  const why = `command '${command.join(' ')}' exited with ${result.exitCode}`;
  throw failed(what, target, `${why}: ${outputOf(result)}`);
}

async function runHttpGet(
  deps: HookDeps,
  action: NonNullable<LifecycleHandler['httpGet']>,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  const { httpHook }: typeof HttpModule = await import('./hook-http.ts');
  let plain: string | undefined;
  try {
    plain = await httpHook(action, target, signal);
  } catch (cause) {
    throw failed(`HTTP lifecycle hook (${action.path ?? ''})`, target, runtimeText(cause), cause);
  }
  if (plain === undefined) return;
  const text = `request to HTTPS lifecycle hook ${plain} got HTTP response, retry with HTTP succeeded`;
  const { kind, namespace, name, uid } = target.event;
  deps.events.event(
    { kind, namespace, name, uid },
    'Warning',
    EventReason.LifecycleHTTPFallback,
    text,
  );
}

async function runSleep(
  deps: HookDeps,
  seconds: number,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  try {
    await deps.clock.sleep(seconds * 1000, signal);
  } catch (cause) {
    const why = 'container terminated before sleep hook finished';
    throw failed(`Sleep lifecycle hook (${seconds})`, target, why, cause);
  }
}

function failed(what: string, target: HookTarget, why: string, cause?: unknown): IsletError {
  const { name, namespace, uid } = target.event;
  const where = `Container "${target.containerName}" in Pod "${name}_${namespace}(${uid})"`;
  return new IsletError('failed', `${what} for ${where} failed - error: ${why}`, { cause });
}

function shown(command: readonly string[]): string {
  return `[${command.join(' ')}]`;
}

function outputOf({ stdout, stderr }: ExecResult): string {
  const parts = [stdout, stderr].map((part) => part.subarray(0, OUTPUT_SHOWN));
  return Buffer.concat(parts).toString('utf8', 0, OUTPUT_SHOWN).trimEnd();
}
