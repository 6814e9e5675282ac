/**
 * Owns: telling of processes that the kernel killed because memory ran out (spec eviction.md §10): on the pod
 * whose process it was, else on the node.
 * Unlike the kubelet: which tells only of victims that are no pod's, an event on the pod names the process:
 * that a child of the main process was killed shows nowhere else.
 * Invariant: a kernel log that cannot be read is one line of the agent's log, and nothing else.
 */
import type { EventRecorder, EventTarget } from '../api/event.ts';
import { nodeTarget } from '../api/event.ts';
import { EventReason } from '../api/reasons.ts';
import type { OomKill } from '../stats/oom-line.ts';
import { OomLines } from '../stats/oom-line.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { Wakeup } from '../util/wakeup.ts';

/** A container by the pod's uid and, as far as known, its own id; undefined: no such pod. */
export type FindTarget = (uid: string, containerId: string | undefined) => EventTarget | undefined;

export interface OomWatchDeps {
  /** @throws when the kernel's log cannot be read. */
  readonly open: () => { read(): string[]; close(): void };
  readonly target: FindTarget;
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The log cannot wake anybody; the end of a container does, which is what most kills come with. */
const PERIOD_MS = 10_000;

export class OomWatch {
  readonly #deps: OomWatchDeps;
  readonly #wakeup = new Wakeup();
  readonly #lines = new OomLines();

  constructor(deps: OomWatchDeps) {
    this.#deps = deps;
  }

  /** A container has ended: look now. */
  poke(): void {
    this.#wakeup.poke();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { open, clock, logger } = this.#deps;
    let log: ReturnType<OomWatchDeps['open']> | undefined;
    try {
      log = open();
      for (;;) {
        await this.#wakeup.wait(clock, PERIOD_MS, signal);
        for (const message of log.read()) this.#tell(this.#lines.read(message));
      }
    } catch (error) {
      signal.throwIfAborted();
      const text = 'the kernel log cannot be read: out-of-memory kills are not reported as events';
      logger.warn(text, { why: messageOf(error) });
    } finally {
      log?.close();
    }
  }

  #tell(kill: OomKill | undefined): void {
    if (!kill) return;
    const { events, nodeName, target } = this.#deps;
    const { process, pid } = kill;
    const place = podCgroupOf(kill.victimCgroup);
    const pod = place && target(place.uid, place.containerId);
    if (pod) {
      const text = `Process ${process} (pid ${pid}) was killed: ${reasonOf(kill)}`;
      events.event(pod, 'Warning', EventReason.OOMKilling, text);
      return;
    }
    if (place) return; // a pod of another agent
    const text = `System OOM encountered, victim process: ${process}, pid: ${pid}`;
    events.event(nodeTarget(nodeName), 'Warning', EventReason.SystemOOM, text);
  }
}

function reasonOf({ victimCgroup, limitedCgroup }: OomKill): string {
  if (limitedCgroup === undefined) return 'the node is out of memory';
  if (limitedCgroup === victimCgroup) return 'the container has reached its memory limit';
  const { containerId } = podCgroupOf(limitedCgroup) ?? { containerId: '' };
  if (containerId === '') return 'all pods together have reached their memory limit';
  return containerId === undefined
    ? 'the pod has reached its memory limit'
    : 'the container has reached its memory limit';
}

/** Both drivers' names: `…/pod<uid>/<id>`, `…/kubepods-burstable-pod<uid_>.slice/cri-containerd-<id>.scope`. */
export function podCgroupOf(
  cgroup: string,
): { uid: string; containerId: string | undefined } | undefined {
  const parts = cgroup.split('/');
  for (const [index, part] of parts.entries()) {
    const slice = /^kubepods(?:-\w+)?-pod([^/]+)\.slice$/.exec(part)?.[1]?.replaceAll('_', '-');
    const parent = parts[index - 1] ?? '';
    const plain = /^(kubepods|burstable|besteffort)$/.test(parent) && /^pod(.+)$/.exec(part)?.[1];
    const uid = slice ?? (plain || undefined);
    if (uid === undefined) continue;
    const next = parts[index + 1];
    return { uid, containerId: next?.replace(/^.*-([0-9a-f]+)\.scope$/, '$1') };
  }
  return undefined;
}
