/**
 * Owns: the API that the CLI speaks over the unix socket: JSON, errors as `{ reason, message }`, logs
 * as a stream of text. It is islet's own and may change with it: agent and CLI are one program.
 *
 *   GET /v1/pods                          PodList
 *   GET /v1/files                         { items: FileView[] }
 *   GET /v1/events?namespace&pod&uid&limit  { items: EventView[] }
 *   GET /v1/warnings/<uid>                { items: string[] }
 *   GET /v1/version                       VersionView
 *   GET /v1/node                          Node
 *   GET /v1/stats/summary[?only_cpu_and_memory]  as on the read-only port, and { allocatable }
 *   GET /v1/metrics[/resource|/cadvisor|/probes]  as on the read-only port
 *   GET /v1/healthz[/<check>]             as on the read-only port
 *   GET /v1/logs/<namespace>/<pod>/<container>?follow&previous&tailLines&sinceSeconds&sinceTime&timestamps&limitBytes
 *
 * Invariant: root alone can connect (unix-socket.ts); nothing here changes anything.
 */
import { EXPOSITION_TYPE } from '../metrics/registry.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import { containerLog } from './container-log.ts';
import { healthzHandler } from './healthz.ts';
import { HttpServer } from './http-server.ts';
import { podList } from './read-only.ts';
import { HttpError, json, text, type Routes, type TextReply } from './route.ts';
import { allMetrics, askSummary, statsRoutes, told } from './stats.ts';
import { listenUnix } from './unix-socket.ts';
import type { AgentView, EventFilter } from './view.ts';

export interface SocketDeps {
  readonly view: AgentView;
  readonly socketPath: string;
  readonly podLogsDir: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface SocketServer {
  /** Ends streams, lets answers go out for a second, removes the socket. */
  close(): Promise<void>;
}

/** Listens. Throws IsletError `already-exists` when another agent answers on the socket. */
export async function serveSocket(deps: SocketDeps): Promise<SocketServer> {
  const { socketPath, clock, log } = deps;
  const http = new HttpServer({
    name: 'socket',
    routes: socketRoutes(deps),
    renderError: jsonError,
    clock,
    log,
  });
  const remove = await listenUnix(http.server, socketPath);
  return {
    close: async () => {
      await remove();
      await http.close();
    },
  };
}

export function socketRoutes(deps: Omit<SocketDeps, 'socketPath' | 'log'>): Routes {
  const { view, podLogsDir, clock } = deps;
  const logs = { pods: () => view.pods(), podLogsDir, clock };
  return {
    '/v1/pods': () => json(podList(view.pods())),
    '/v1/files': () => json({ items: view.files() }),
    '/v1/events': ({ query }) => json({ items: view.events(eventFilter(query)) }),
    '/v1/warnings/:uid': ({ params }) => json({ items: view.warnings(params['uid'] ?? '') }),
    '/v1/version': () => json(view.version()),
    '/v1/node': () => json(view.node()),
    ...statsRoutes(view.stats, '/v1'),
    '/v1/stats/summary': told(async (request) => {
      const { allocatable } = view;
      return json({ ...(await askSummary(view.stats, request)), allocatable });
    }),
    '/v1/metrics': allMetrics(view),
    '/v1/metrics/probes': () => ({ ...text(view.probeMetrics()), type: EXPOSITION_TYPE }),
    '/v1/healthz/*': healthzHandler(() => view.health()),
    '/v1/logs/:namespace/:pod/:container': (request) => containerLog(logs, request),
  };
}

function eventFilter(query: URLSearchParams): EventFilter {
  const limit = query.get('limit');
  if (limit !== null && !/^[1-9]\d{0,8}$/.test(limit)) {
    throw new HttpError('BadRequest', `limit: ${JSON.stringify(limit)} is not a positive number`);
  }
  const filter: Record<string, string> = {};
  for (const key of ['namespace', 'pod', 'uid']) {
    const value = query.get(key);
    if (value !== null) filter[key] = value;
  }
  return { ...filter, ...(limit !== null && { limit: Number(limit) }) };
}

function jsonError(error: HttpError): TextReply {
  return json({ reason: error.reason, message: error.message }, error.status);
}
