/**
 * Owns: one attempt of a probe (spec: probes.md §3): the handler, up to three tries when it cannot run,
 * the events.
 * Leaves to others: what follows from results (decide.ts), when to probe (worker.ts).
 */
import type { EventRecorder } from '../api/event.ts';
import { containerTarget } from '../api/event.ts';
import { podDescription } from '../api/pod.ts';
import { EventReason } from '../api/reasons.ts';
import type { RuntimeService } from '../cri/model.ts';
import type { Clock } from '../util/clock.ts';
import { messageOf } from '../util/errors.ts';
import { probeExec } from './exec.ts';
import type { GrpcProber } from './grpc.ts';
import type { HttpProber } from './http.ts';
import { PROBE_TITLES, errored } from './model.ts';
import type { Outcome, ProbeSubject } from './model.ts';
import type * as TcpModule from './tcp.ts';
import type { TimeLimit } from './time-limit.ts';

export interface ProberDeps {
  readonly runtime: Pick<RuntimeService, 'execSync' | 'version'>;
  readonly events: EventRecorder;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** `kube-probe/1.36`. */
  readonly userAgent: string;
}

const MAX_TRIES = 3;

export class Prober {
  readonly #deps: ProberDeps;
  // Each handler is loaded by the first probe that needs it.
  #http: Promise<HttpProber> | undefined;
  #tcp: Promise<typeof TcpModule> | undefined;
  #grpc: Promise<GrpcProber> | undefined;

  constructor(deps: ProberDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the container is well; undefined when that could not be found out. Everything but a success is
   * an event, each time.
   * @throws the reason of the stop, nothing else
   */
  async probe(subject: ProbeSubject, limit: TimeLimit): Promise<boolean | undefined> {
    const outcome = await this.#tries(subject, limit);
    limit.throwIfStopped();
    const title = PROBE_TITLES[subject.kind];
    switch (outcome.kind) {
      case 'success':
        return true;
      case 'warning':
        this.#say(subject, EventReason.ProbeWarning, `${title} probe warning: ${outcome.text}`);
        return true;
      case 'failure':
        this.#say(subject, EventReason.Unhealthy, `${title} probe failed: ${outcome.text}`);
        return false;
      case 'error': {
        const text = `${title} probe errored and resulted in ${outcome.state} state: ${outcome.text}`;
        this.#say(subject, EventReason.Unhealthy, text);
        return undefined;
      }
    }
  }

  async #tries(subject: ProbeSubject, limit: TimeLimit): Promise<Outcome> {
    for (let tries = 1; ; tries++) {
      const outcome = await this.#once(subject, limit);
      if (outcome.kind !== 'error' || tries === MAX_TRIES) return outcome;
    }
  }

  async #once(subject: ProbeSubject, limit: TimeLimit): Promise<Outcome> {
    try {
      return await this.#handle(subject, limit);
    } catch (error) {
      limit.throwIfStopped();
      return errored(messageOf(error));
    }
  }

  async #handle(subject: ProbeSubject, limit: TimeLimit): Promise<Outcome> {
    const { userAgent, clock } = this.#deps;
    const { probe, pod, container } = subject;
    if (probe.exec) return probeExec(this.#deps.runtime, subject, limit);
    if (probe.httpGet) {
      this.#http ??= import('./http.ts').then((m) => new m.HttpProber(userAgent));
      return (await this.#http).probe(subject, limit);
    }
    if (probe.tcpSocket) {
      this.#tcp ??= import('./tcp.ts');
      return (await this.#tcp).probeTcp(subject, limit);
    }
    if (probe.grpc) {
      this.#grpc ??= import('./grpc.ts').then((m) => new m.GrpcProber({ userAgent, clock }));
      return (await this.#grpc).probe(subject, limit);
    }
    return errored(`missing probe handler for ${podDescription(pod)}:${container.name}`);
  }

  #say(subject: ProbeSubject, reason: EventReason, message: string): void {
    const { pod, container } = subject;
    this.#deps.events.event(containerTarget(pod, container), 'Warning', reason, message);
  }
}
