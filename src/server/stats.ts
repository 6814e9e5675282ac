/**
 * Owns: the paths that tell how much is used (spec http-api.md §5, §7), for every server that has them.
 */
import { IsletError } from '../util/errors.ts';
import { EXPOSITION_TYPE } from '../metrics/registry.ts';
import { HttpError, json, text, type Handler, type Request, type Routes } from './route.ts';
import type { AgentView, StatsView } from './view.ts';

export function statsRoutes(stats: StatsView, prefix = ''): Routes {
  return {
    [`${prefix}/stats/summary`]: told(async (request) => json(await askSummary(stats, request))),
    [`${prefix}/metrics/resource`]: told(async ({ signal }) =>
      metrics(await stats.resourceMetrics(signal)),
    ),
    [`${prefix}/metrics/cadvisor`]: told(async ({ signal }) =>
      metrics(await stats.cadvisorMetrics(signal)),
    ),
  };
}

/** `/metrics`: what the agent counts, and what its pods keep on disks. */
export function allMetrics(view: Pick<AgentView, 'metrics' | 'stats'>): Handler {
  return async ({ signal }) => {
    const disks = await view.stats.diskMetrics(signal);
    return metrics(view.metrics() + disks);
  };
}

export function askSummary(stats: StatsView, { query, signal }: Request): Promise<object> {
  // As the kubelet: what is no word for true is false.
  const only = query.get('only_cpu_and_memory') ?? '';
  const onlyCpuAndMemory = TRUE.includes(only);
  return stats.summary({ onlyCpuAndMemory }, signal);
}

const TRUE: readonly string[] = ['1', 't', 'T', 'TRUE', 'true', 'True'];

function metrics(body: string): ReturnType<typeof text> {
  return { ...text(body), type: EXPOSITION_TYPE };
}

/** A failure that the asker can do something about is told in the kubelet's words. */
export function told(handler: Handler): Handler {
  return async (request) => {
    try {
      return await handler(request);
    } catch (error) {
      if (!(error instanceof IsletError)) throw error;
      throw new HttpError('InternalError', `Internal Error: ${error.message}`);
    }
  };
}
