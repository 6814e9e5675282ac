/**
 * Owns: the read-only port: pods, health, usage and metrics for anybody who can reach it, over plain HTTP.
 * Spec: http-api.md §1, §2.
 * Invariant: nothing here changes anything or runs anything; what would on a kubelet answers 405.
 */
import { EXPOSITION_TYPE } from '../metrics/registry.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import { healthzHandler, plainError } from './healthz.ts';
import { HttpServer } from './http-server.ts';
import { HttpError, json, text, type Handler, type Routes } from './route.ts';
import { allMetrics, statsRoutes } from './stats.ts';
import type { AgentView } from './view.ts';

export interface ReadOnlyDeps {
  readonly view: Pick<AgentView, 'pods' | 'health' | 'metrics' | 'probeMetrics' | 'stats'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const DEBUG_PATHS = [
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'runningpods',
  'debug',
  'logs',
] as const;

/** Not yet listening: `listen({ host: address, port: readOnlyPort, setting: 'readOnlyPort' })`. */
export function readOnlyServer(deps: ReadOnlyDeps): HttpServer {
  const { view, clock, log } = deps;
  return new HttpServer({
    name: 'read-only port',
    routes: readOnlyRoutes(view),
    renderError: plainError,
    clock,
    log,
  });
}

export function readOnlyRoutes(view: ReadOnlyDeps['view']): Routes {
  const disabled: Handler = () => {
    throw new HttpError('MethodNotAllowed', 'Debug endpoints are disabled.');
  };
  return {
    '/pods': () => json(podList(view.pods())),
    '/healthz/*': healthzHandler(() => view.health()),
    '/metrics': allMetrics(view),
    '/metrics/probes': () => ({ ...text(view.probeMetrics()), type: EXPOSITION_TYPE }),
    ...statsRoutes(view.stats),
    ...Object.fromEntries(DEBUG_PATHS.map((path) => [`/${path}/*`, disabled])),
  };
}

/** A v1 PodList. */
export function podList<T>(items: readonly T[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
