/**
 * Owns: running a lifecycle handler (spec/pod-lifecycle.md §9.1): exec, httpGet, sleep.
 * Leaves to others: when a hook runs, how long it may take and what its failure means.
 */
import type { HttpGetAction, LifecycleHandler } from '../api/pod.ts';
import type { RuntimeService } from '../cri/model.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError, messageOf } from '../util/errors.ts';

export interface HookDeps {
  readonly runtime: Pick<RuntimeService, 'execSync'>;
  readonly clock: Clock;
}

export interface HookTarget {
  readonly containerId: string;
  /** Where httpGet goes without a host. */
  readonly podIp: string | undefined;
  /** Named ports of the container. */
  readonly ports: ReadonlyMap<string, number>;
}

const OUTPUT_SHOWN = 1024;

/** @throws IsletError `failed` or `invalid` with the text for the event. */
export async function runHook(
  deps: HookDeps,
  handler: LifecycleHandler,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  if (handler.exec) return runExec(deps, handler.exec.command ?? [], target, signal);
  if (handler.httpGet) return runHttpGet(handler.httpGet, target, signal);
  if (handler.sleep) return deps.clock.sleep(handler.sleep.seconds * 1000, signal);
  throw new IsletError('invalid', 'invalid handler: only exec, httpGet and sleep can run');
}

async function runExec(
  deps: HookDeps,
  command: string[],
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  const result = await deps.runtime.execSync(target.containerId, command, 0, signal);
  if (result.exitCode === 0) return;
  const output = Buffer.concat([result.stdout, result.stderr]).toString('utf8', 0, OUTPUT_SHOWN);
  throw new IsletError(
    'failed',
    `command '${command.join(' ')}' exited with ${result.exitCode}: ${output.trimEnd()}`,
  );
}

/** Any answer is a success; only a failed transport is a failure. */
async function runHttpGet(
  action: HttpGetAction,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  const secure = action.scheme?.toUpperCase() === 'HTTPS';
  const host = action.host ?? target.podIp;
  const port = typeof action.port === 'number' ? action.port : namedPort(action.port, target);
  if (!host) throw new IsletError('failed', 'failed to find networking container: no pod IP');
  const { request } = secure ? await import('node:https') : await import('node:http');
  const path = action.path?.startsWith('/') ? action.path : `/${action.path ?? ''}`;
  await new Promise<void>((resolve, reject) => {
    const call = request(
      {
        host,
        port,
        path,
        signal,
        rejectUnauthorized: false,
        headers: {
          'user-agent': 'kube-lifecycle/1.36',
          ...Object.fromEntries((action.httpHeaders ?? []).map((h) => [h.name, h.value])),
        },
      },
      (response) => {
        response.resume();
        resolve();
      },
    );
    call.on('error', (cause) =>
      reject(
        new IsletError('failed', `Get "${host}:${port}${path}": ${messageOf(cause)}`, { cause }),
      ),
    );
    call.end();
  });
}

function namedPort(port: string, target: HookTarget): number {
  const found = target.ports.get(port) ?? Number(port);
  if (Number.isInteger(found) && found > 0 && found < 65536) return found;
  throw new IsletError('invalid', `couldn't find port: "${port}"`);
}
