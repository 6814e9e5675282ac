/**
 * Owns: answering a request for a container's log: which instance, which file, as a stream.
 * Spec: http-api.md §3. Leaves to others: reading (log/), choosing (log-instance.ts).
 */
import type { Pod } from '../api/pod.ts';
import { readLogs } from '../log/reader.ts';
import type { Clock } from '../util/clock.ts';
import { codeOf } from '../util/errors.ts';
import { logFileOf } from './log-file.ts';
import { containerStatus, selectLogInstance, type LogInstance } from './log-instance.ts';
import { parseLogQuery, type LogQuery } from './log-query.ts';
import { HttpError, type Request, type StreamReply } from './route.ts';

export interface ContainerLogDeps {
  readonly pods: () => readonly Pod[];
  readonly podLogsDir: string;
  readonly clock: Clock;
}

/** For a route with `:namespace`, `:pod` and `:container`. */
export async function containerLog(deps: ContainerLogDeps, request: Request): Promise<StreamReply> {
  const { namespace = '', pod: podName = '', container = '' } = request.params;
  const query = parseLogQuery(request.query, deps.clock.wall());
  const pod = findPod(deps.pods(), namespace, podName);
  if (!pod) throw new HttpError('NotFound', `pod ${JSON.stringify(podName)} does not exist`);
  if (!hasContainer(pod, container)) {
    const message = `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(podName)}`;
    throw new HttpError('NotFound', message);
  }
  const selected = selectLogInstance(pod, container, query.previous);
  if (!selected.ok) throw new HttpError('BadRequest', selected.error);
  const { instance } = selected;
  const path = await logFileOf(deps.podLogsDir, pod, container, instance);
  return {
    type: 'text/plain; charset=utf-8',
    stream: async (write) => {
      const options = { ...query, follow: followOptions(deps, pod, container, instance, query) };
      try {
        await readLogs(path, options, write, request.signal);
      } catch (error) {
        if (codeOf(error) !== 'not-found') throw error;
        const message = `container ${JSON.stringify(container)} in pod ${JSON.stringify(podName)} has no log (${path} is not there)`;
        throw new HttpError('NotFound', message);
      }
    },
  };
}

function followOptions(
  deps: ContainerLogDeps,
  pod: Pod,
  container: string,
  instance: LogInstance,
  query: LogQuery,
): { clock: Clock; isRunning: () => boolean } | undefined {
  if (!query.follow) return undefined;
  const { namespace, name } = pod.metadata;
  const isRunning = (): boolean => {
    const now = findPod(deps.pods(), namespace, name);
    const status = now && containerStatus(now, container);
    return status?.state.running !== undefined && status.containerID === instance.containerId;
  };
  return { clock: deps.clock, isRunning };
}

function findPod(pods: readonly Pod[], namespace: string, name: string): Pod | undefined {
  return pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

function hasContainer(pod: Pod, name: string): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].some((c) => c.name === name);
}
