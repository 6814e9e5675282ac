/**
 * Owns: getting the image of a container into the store by its pull policy, with the back-off of failed
 * pulls, and the events about it (spec/pod-lifecycle.md §8, gc-logs-images.md §4).
 * Invariant: a failed pull never throws; it is an outcome with the reason that the user sees.
 * Leaves to others: credentials (a CredentialSource), and when to try again (the outcome says from when).
 */
import type { EventRecorder, EventTarget } from '../api/event.ts';
import type { PullPolicy } from '../api/pod.ts';
import { EventReason, WaitingReason } from '../api/reasons.ts';
import { runtimeText } from '../cri/errors.ts';
import type { AuthConfig, Image, ImageService, SandboxConfig } from '../cri/model.ts';
import { goDuration, nextDelay } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { codeOf } from '../util/errors.ts';
import type { Limiter } from '../util/limiter.ts';
import { normalizeImage } from './name.ts';
import type { TokenBucket } from './token-bucket.ts';

export interface ImageRequest {
  readonly podUid: string;
  readonly target: EventTarget;
  readonly image: string;
  readonly policy: PullPolicy;
  readonly annotations: Record<string, string>;
  readonly sandbox: SandboxConfig | undefined;
  /** Runs a pull, which may take minutes, without what the caller holds meanwhile. */
  readonly away: <T>(pull: () => Promise<T>) => Promise<T>;
}

export type ImageOutcome =
  | { readonly kind: 'ready'; readonly image: Image }
  | {
      readonly kind: 'failed';
      readonly reason: WaitingReason;
      readonly message: string;
      /** Before that a further try is pointless; undefined: the usual retry. */
      readonly retryAfterMs: number | undefined;
    };

export interface CredentialSource {
  /** Credentials to try in order; empty: one anonymous try. */
  credentialsFor(image: string): Promise<AuthConfig[]>;
}

export interface ImagePullerDeps {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly events: EventRecorder;
  /** Bounds how many pulls run at once. */
  readonly pulls: Limiter;
  readonly rate: TokenBucket;
  readonly credentials: CredentialSource;
}

interface Failure {
  readonly delayMs: number;
  readonly atMs: number;
  readonly reason: WaitingReason;
  readonly message: string;
}

const PULL_BACKOFF = { baseMs: 10_000, maxMs: 300_000 };
const FORGET_AFTER_MS = 600_000;

export class ImagePuller {
  readonly #deps: ImagePullerDeps;
  readonly #failures = new Map<string, Failure>();

  constructor(deps: ImagePullerDeps) {
    this.#deps = deps;
  }

  async ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageOutcome> {
    const name = normalizeImage(request.image);
    if (name.kind === 'invalid') {
      this.#warn(request, EventReason.InspectFailed, name.message);
      return this.#failed(request, WaitingReason.InvalidImageName, name.message);
    }
    if (request.policy === 'Always') return this.#pull(request, name.name, signal);
    let present: Image | undefined;
    try {
      present = await this.#deps.images.imageStatus(name.name, signal);
    } catch (error) {
      const message = `Failed to inspect image "${name.name}": ${runtimeText(error)}`;
      this.#warn(request, EventReason.InspectFailed, message);
      return this.#failed(request, WaitingReason.ImageInspectError, message);
    }
    if (present) {
      const message = `Container image "${request.image}" already present on machine and can be accessed by the pod`;
      this.#deps.events.event(request.target, 'Normal', EventReason.Pulled, message);
      return { kind: 'ready', image: present };
    }
    if (request.policy === 'Never') {
      const message = `Container image "${request.image}" is not present with pull policy of Never`;
      this.#warn(request, EventReason.ErrImageNeverPull, message);
      return this.#failed(request, WaitingReason.ErrImageNeverPull, message);
    }
    return this.#pull(request, name.name, signal);
  }

  /** Forgets the back-offs of a pod that is gone. */
  forget(podUid: string): void {
    for (const key of this.#failures.keys()) {
      if (key.startsWith(`${podUid}_`)) this.#failures.delete(key);
    }
  }

  async #pull(request: ImageRequest, name: string, signal: AbortSignal): Promise<ImageOutcome> {
    const key = `${request.podUid}_${name}`;
    const waiting = this.#backingOff(key);
    if (waiting) {
      const text = `Back-off pulling image "${name}"`;
      this.#deps.events.event(request.target, 'Normal', EventReason.BackOff, text);
      const message = `${text}: ${waiting.failure.reason}: ${waiting.failure.message}`;
      return this.#failed(request, WaitingReason.ImagePullBackOff, message, waiting.leftMs);
    }
    this.#deps.events.event(
      request.target,
      'Normal',
      EventReason.Pulling,
      `Pulling image "${name}"`,
    );
    try {
      const image = await request.away(() => this.#pullNow(request, name, signal));
      this.#failures.delete(key);
      return { kind: 'ready', image };
    } catch (error) {
      signal.throwIfAborted();
      const { reason, message } = pullFailure(name, error);
      this.#warn(
        request,
        EventReason.Failed,
        `Failed to pull image "${name}": ${runtimeText(error)}`,
      );
      const delayMs = nextDelay(PULL_BACKOFF, this.#failures.get(key)?.delayMs);
      this.#failures.set(key, { delayMs, atMs: this.#deps.clock.monotonic(), reason, message });
      return this.#failed(request, reason, message, delayMs);
    }
  }

  async #pullNow(request: ImageRequest, name: string, signal: AbortSignal): Promise<Image> {
    const { images, clock, pulls, rate, credentials } = this.#deps;
    if (!rate.take()) throw new Error('pull QPS exceeded');
    const asked = clock.monotonic();
    const auths = await credentials.credentialsFor(name);
    const { image, tookMs } = await pulls.run(0, signal, async () => {
      const started = clock.monotonic();
      const ref = await this.#tryEach(request, name, auths, signal);
      const pulled =
        (await images.imageStatus(ref, signal)) ?? (await images.imageStatus(name, signal));
      if (!pulled) throw new Error(`the image is not in the store after the pull of ${ref}`);
      return { image: pulled, tookMs: clock.monotonic() - started };
    });
    const waitedMs = clock.monotonic() - asked;
    this.#deps.events.event(
      request.target,
      'Normal',
      EventReason.Pulled,
      `Successfully pulled image "${name}" in ${goDuration(tookMs)} (${goDuration(waitedMs)} including waiting). Image size: ${image.size} bytes.`,
    );
    return image;
  }

  async #tryEach(
    request: ImageRequest,
    name: string,
    auths: readonly AuthConfig[],
    signal: AbortSignal,
  ): Promise<string> {
    const errors: string[] = [];
    for (const auth of auths.length > 0 ? auths : [undefined]) {
      try {
        return await this.#deps.images.pullImage(
          name,
          auth,
          request.sandbox,
          request.annotations,
          signal,
        );
      } catch (error) {
        signal.throwIfAborted();
        if (auths.length <= 1) throw error;
        errors.push(runtimeText(error));
      }
    }
    throw new Error(`[${errors.join(', ')}]`);
  }

  #backingOff(key: string): { failure: Failure; leftMs: number } | undefined {
    const failure = this.#failures.get(key);
    if (!failure) return undefined;
    const age = this.#deps.clock.monotonic() - failure.atMs;
    if (age > FORGET_AFTER_MS) this.#failures.delete(key);
    return age < failure.delayMs ? { failure, leftMs: failure.delayMs - age } : undefined;
  }

  #failed(
    request: ImageRequest,
    reason: WaitingReason,
    message: string,
    retryAfterMs?: number,
  ): ImageOutcome {
    this.#warn(request, EventReason.Failed, `Error: ${reason}`);
    return { kind: 'failed', reason, message, retryAfterMs };
  }

  #warn(request: ImageRequest, reason: string, message: string): void {
    this.#deps.events.event(request.target, 'Warning', reason, message);
  }
}

/** The runtime marks two kinds of failure by the first word of its message (spec §8): its only channel. */
function pullFailure(name: string, error: unknown): { reason: WaitingReason; message: string } {
  const text = runtimeText(error);
  if (text.startsWith(WaitingReason.RegistryUnavailable)) {
    const rest = text.slice(WaitingReason.RegistryUnavailable.length);
    const message = `image pull failed for ${name} because the registry is unavailable${rest}`;
    return { reason: WaitingReason.RegistryUnavailable, message };
  }
  if (text.startsWith(WaitingReason.SignatureValidationFailed)) {
    const rest = text.slice(WaitingReason.SignatureValidationFailed.length);
    const message = `image pull failed for ${name} because the signature validation failed${rest}`;
    return { reason: WaitingReason.SignatureValidationFailed, message };
  }
  const hint = codeOf(error) === 'unavailable' ? ' (the container runtime does not answer)' : '';
  return { reason: WaitingReason.ErrImagePull, message: text + hint };
}
