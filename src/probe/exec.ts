/**
 * Owns: the exec handler (spec: probes.md §3.3).
 * Leaves to others: running and killing the command (the runtime).
 */
import type { Container } from '../api/pod.ts';
import { runtimeText } from '../cri/errors.ts';
import type { ExecResult, RuntimeService } from '../cri/model.ts';
import { expand } from '../runtime/expand.ts';
import { goDuration } from '../util/backoff.ts';
import { codeOf } from '../util/errors.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import { MAX_OUTPUT_BYTES, SUCCESS, errored, failure } from './model.ts';
import type { TimeLimit } from './time-limit.ts';
import { TimeIsUp } from './time-limit.ts';

type ExecRuntime = Pick<RuntimeService, 'execSync' | 'version'>;

/** How long beyond the command's own time the runtime may take to say that it is over. */
const ANSWER_MS = 5_000;

/**
 * Unlike the kubelet, which waits two minutes more: a runtime that says nothing after the time is asked
 * whether it is there. If so, it is the command that hangs (a child of it keeps the output open), and that
 * is a failure. If not, the container is not blamed for it.
 */
export async function probeExec(
  runtime: ExecRuntime,
  subject: ProbeSubject,
  limit: TimeLimit,
): Promise<Outcome> {
  const { container, containerId, probe } = subject;
  const command = probeCommand(container, probe.exec?.command ?? []);
  const seconds = probe.timeoutSeconds;
  try {
    const answer = await limit.within(seconds * 1000 + ANSWER_MS, (signal) =>
      runtime.execSync(containerId, command, seconds, signal),
    );
    return answer.exitCode === 0 ? SUCCESS : failure(outputOf(answer));
  } catch (error) {
    limit.throwIfStopped();
    const late = error instanceof TimeIsUp || codeOf(error) === 'deadline';
    if (!late) return errored(runtimeText(error));
    // The deadline may also be that of the call itself.
    if (!(await isThere(runtime, limit))) return errored('the runtime does not answer');
    const shown = JSON.stringify(command.join(' '));
    return failure(`command timed out: ${shown} timed out after ${goDuration(seconds * 1000)}`);
  }
}

/** Only what the manifest says literally is known to a probe; names of other variables stay as they are. */
export function probeCommand(container: Container, command: readonly string[]): string[] {
  if (!command.some((part) => part.includes('$'))) return [...command];
  const literal = (container.env ?? []).filter(({ valueFrom }) => valueFrom === undefined);
  const vars = new Map(literal.map(({ name, value }) => [name, value ?? '']));
  return command.map((part) => expand(part, vars));
}

function outputOf({ stdout, stderr }: ExecResult): string {
  return Buffer.concat([stdout, stderr]).toString('utf8', 0, MAX_OUTPUT_BYTES);
}

async function isThere(runtime: ExecRuntime, limit: TimeLimit): Promise<boolean> {
  try {
    await limit.within(ANSWER_MS, (signal) => runtime.version(signal));
    return true;
  } catch {
    limit.throwIfStopped();
    return false;
  }
}
