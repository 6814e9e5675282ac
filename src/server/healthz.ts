/**
 * Owns: how health checks are answered, in the text format of Kubernetes' healthz, and the server of
 * `healthzPort`. Spec: http-api.md §1, §2.
 * Leaves to others: the checks themselves (AgentView.health).
 */
import { aborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { HttpServer, type TcpAddress } from './http-server.ts';
import { HttpError, text, type Handler, type Routes, type TextReply } from './route.ts';
import type { HealthCheck } from './view.ts';

/**
 * Always passing: they say that this process answers. The kubelet's `log` asks whether its log is
 * being flushed; islet writes each line at once.
 */
const OWN_CHECKS: readonly HealthCheck[] = [{ name: 'ping' }, { name: 'log' }];

/** `/healthz`, `/healthz/<check>`, with `?verbose` and `?exclude=<check>`. */
export function healthzHandler(checks: () => readonly HealthCheck[]): Handler {
  return ({ params, query }) => {
    const name = params['*'] ?? '';
    const all = [...OWN_CHECKS, ...checks()];
    return name === ''
      ? summary(all, query.getAll('exclude'), query.has('verbose'))
      : single(all, name);
  };
}

export function plainError(error: HttpError): TextReply {
  return text(`${error.message}\n`, error.status);
}

/** Which checks fail, not why: that takes asking for the one check, as on a kubelet. */
function summary(
  checks: readonly HealthCheck[],
  excluded: readonly string[],
  verbose: boolean,
): TextReply {
  const lines: string[] = [];
  let failed = false;
  for (const { name, error } of checks) {
    if (excluded.includes(name)) lines.push(`[+]${name} excluded: ok`);
    else if (error === undefined) lines.push(`[+]${name} ok`);
    else {
      lines.push(`[-]${name} failed: reason withheld`);
      failed = true;
    }
  }
  const unknown = excluded.filter((name) => !checks.some((check) => check.name === name));
  if (unknown.length > 0) {
    const names = unknown.map((name) => `"${name}"`).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (!failed && !verbose) return text('ok');
  lines.push(failed ? 'healthz check failed' : 'healthz check passed', '');
  return text(lines.join('\n'), failed ? 500 : 200);
}

function single(checks: readonly HealthCheck[], name: string): TextReply {
  const check = checks.find((one) => one.name === name);
  if (!check) throw new HttpError('NotFound', '404: Page Not Found');
  if (check.error === undefined) return text('ok');
  return text(`internal server error: ${check.error}\n`, 500);
}

export interface HealthzDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const RETRY_MS = 5000;

/**
 * Serves `/healthz` on the healthz port until the signal aborts. It says only that the process
 * answers, as the kubelet's does; the checks are on the read-only port. A port that cannot be had is
 * tried again every five seconds and never ends the agent.
 */
export async function serveHealthz(
  address: TcpAddress,
  deps: HealthzDeps,
  signal: AbortSignal,
): Promise<void> {
  const handler: Handler = ({ query }) => summary([{ name: 'ping' }], [], query.has('verbose'));
  const routes: Routes = { '/healthz': handler, '/healthz/ping': handler };
  let said = '';
  while (!signal.aborted) {
    const server = new HttpServer({
      name: 'healthz port',
      routes,
      renderError: plainError,
      ...deps,
    });
    try {
      await server.listen(address);
      await aborted(signal);
      await server.close();
    } catch (error) {
      if (messageOf(error) !== said) deps.log.warn('health is not served', { err: error });
      said = messageOf(error);
      await deps.clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
}
