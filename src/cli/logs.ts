/**
 * Owns: `islet logs`: which pod and container are meant, with which options; the agent chooses the
 * instance (server/log-instance.ts) and sends the log as it comes.
 * Unlike kubectl: of several containers none is taken for granted, unless the pod is annotated with
 * `kubectl.kubernetes.io/default-container`.
 */
import type { Pod } from '../api/pod.ts';
import { IsletError } from '../util/errors.ts';
import { AgentClient } from './client.ts';
import { parseDuration } from './duration.ts';
import { guarded, write, type CliIo } from './io.ts';
import { findPod } from './pod-lookup.ts';

export interface LogsArgs {
  readonly pod: string;
  readonly container?: string;
  readonly namespace?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  /** Lines, as typed; `-1` and `all` mean all. */
  readonly tail?: string;
  /** A duration such as `5m`. */
  readonly since?: string;
  /** RFC 3339. */
  readonly sinceTime?: string;
  readonly limitBytes?: string;
}

export function logs(args: LogsArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    const query = queryOf(args);
    const client = new AgentClient(io);
    const pod = findPod(await client.pods(), args.pod, args.namespace);
    const { namespace, name } = pod.metadata;
    const container = containerOf(pod, args.container);
    await client.log({ namespace, pod: name, container, query }, (bytes) =>
      write(io.stdout, bytes),
    );
    return 0;
  });
}

const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/** The container meant. Throws IsletError `invalid` with the choices when that is not clear. */
export function containerOf(pod: Pod, wanted: string | undefined): string {
  const names = pod.spec.containers.map((c) => c.name);
  const init = (pod.spec.initContainers ?? []).map((c) => c.name);
  const ephemeral = (pod.spec.ephemeralContainers ?? []).map((c) => c.name);
  const choices =
    `[${names.join(' ')}]` +
    (init.length > 0 ? ` or one of the init containers: [${init.join(' ')}]` : '');
  const asked = wanted ?? pod.metadata.annotations?.[DEFAULT_CONTAINER];
  const podName = pod.metadata.name;
  if (asked !== undefined) {
    if ([...names, ...init, ...ephemeral].includes(asked)) return asked;
    throw new IsletError(
      'invalid',
      `error: container ${JSON.stringify(asked)} is not in pod ${podName}: choose one of: ${choices}`,
    );
  }
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  throw new IsletError(
    'invalid',
    `error: a container name must be specified for pod ${podName} with -c, choose one of: ${choices}`,
  );
}

function queryOf(args: LogsArgs): Record<string, string> {
  const query: Record<string, string> = {};
  for (const flag of ['follow', 'previous', 'timestamps'] as const) {
    if (args[flag]) query[flag] = 'true';
  }
  if (args.tail !== undefined && args.tail !== '-1' && args.tail !== 'all') {
    query['tailLines'] = wholeNumber('--tail', args.tail);
  }
  if (args.limitBytes !== undefined) {
    query['limitBytes'] = wholeNumber('--limit-bytes', args.limitBytes);
  }
  if (args.since !== undefined && args.sinceTime !== undefined) {
    throw new IsletError('invalid', 'error: only one of --since and --since-time may be used');
  }
  if (args.since !== undefined) {
    const seconds = Math.ceil(parseDuration('--since', args.since) / 1000);
    if (seconds > 0) query['sinceSeconds'] = String(seconds);
  }
  if (args.sinceTime !== undefined) query['sinceTime'] = args.sinceTime;
  return query;
}

function wholeNumber(flag: string, text: string): string {
  if (/^\d{1,15}$/.test(text)) return text;
  throw new IsletError('invalid', `error: ${flag}: ${JSON.stringify(text)} is not a whole number`);
}
