/**
 * Owns: getting the image of a container or a volume into the store by its pull policy, with the
 * back-off of failed pulls, and the events about it (spec/pod-lifecycle.md §8, gc-logs-images.md §4).
 * Invariants: a failed pull never throws; it is an outcome with the reason that the user sees. An image
 * that the pod may not use is never the outcome.
 * Leaves to others: credentials (a CredentialSource), who may use what (access.ts), the event `Error:
 * REASON` of the container that does not start, and when to try again (the outcome says from when).
 */
import type { EventRecorder, EventTarget } from '../api/event.ts';
import type { PullPolicy } from '../api/pod.ts';
import { Annotation, EventReason, WaitingReason } from '../api/reasons.ts';
import type { ImagePolicy } from '../config/model.ts';
import { runtimeText } from '../cri/errors.ts';
import type { AuthConfig, Image, ImageService, SandboxConfig } from '../cri/model.ts';
import type { Histogram } from '../metrics/registry.ts';
import { goDuration } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import type { Limiter } from '../util/limiter.ts';
import type { CredentialOrigin, ImageAccess } from './access.ts';
import { imagePolicyOf } from './image-policy.ts';
import { normalizeImage } from './name.ts';
import { PullBackoff } from './pull-backoff.ts';
import type { PullFailure } from './pull-failure.ts';
import {
  NOT_FOR_THIS_POD,
  PullError,
  attemptFailure,
  couldUseCached,
  digestOf,
  pullFailure,
} from './pull-failure.ts';
import { sizeBucket } from './pull-metric.ts';
import { secretId } from './pull-secret.ts';
import type { TokenBucket } from './token-bucket.ts';

export interface ImageRequest extends CredentialAsker {
  readonly podUid: string;
  readonly image: string;
  readonly policy: PullPolicy;
  /** Of the pod. */
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
      /** When to ask again; undefined: the usual retry. */
      readonly retryAfterMs: number | undefined;
    };

/** For whom credentials are looked up. */
export interface CredentialAsker {
  readonly target: EventTarget;
  /** Names of the pod's `imagePullSecrets`, in its namespace. */
  readonly pullSecrets: readonly string[];
}

export interface Credential {
  readonly auth: AuthConfig;
  readonly origin: CredentialOrigin;
}

export interface CredentialSource {
  /** Says, as events, which of the pull secrets cannot be used. */
  announce(asker: CredentialAsker): void;
  /** What stands behind the names of the pull secrets; other objects than before: other contents. */
  secretsOf(asker: CredentialAsker): readonly unknown[];
  /** Credentials to try in order; empty: one anonymous try. */
  credentialsFor(
    image: string,
    asker: CredentialAsker,
    signal: AbortSignal,
  ): Promise<readonly Credential[]>;
}

/** Is told what decides later whether an image may be removed. */
export interface ImageLedger {
  /** A container or a volume is about to be made of the image. */
  used(id: string): void;
  /** The registry of `name` gave the image. */
  pulled(name: string, id: string): void;
  /** It gave none, and has answered or not. */
  notPulled(name: string, answered: boolean): void;
}

export interface ImagePullerDeps {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly events: EventRecorder;
  /** Bounds how many pulls run at once. */
  readonly pulls: Limiter;
  readonly rate: TokenBucket;
  readonly credentials: CredentialSource;
  readonly access: ImageAccess;
  readonly ledger: ImageLedger;
  /** The node's; a pod may have its own. */
  readonly imagePolicy: ImagePolicy;
  /** `kubelet_image_pull_duration_seconds` */
  readonly duration: Histogram;
}

/** Asked again so soon after a pull that failed, a longer pause is told as one (the kubelet's retry of a sync). */
const LOOK_AGAIN_MS = 10_000;

/** A failure that is waited out, but only while the pod's pull secrets are the same. */
interface Attempt {
  readonly failure: PullFailure;
  readonly secrets: readonly unknown[];
}

/** A request that has passed its first checks. */
interface Wanted extends ImageRequest {
  /** With the default tag. */
  readonly name: string;
}

export class ImagePuller {
  readonly #deps: ImagePullerDeps;
  readonly #backoff: PullBackoff<Attempt>;

  constructor(deps: ImagePullerDeps) {
    this.#deps = deps;
    this.#backoff = new PullBackoff(deps.clock);
  }

  async ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageOutcome> {
    const outcome = await this.#ensure(request, signal);
    if (outcome.kind === 'ready') this.#deps.ledger.used(outcome.image.id);
    return outcome;
  }

  async #ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageOutcome> {
    const name = normalizeImage(request.image);
    if (name.kind === 'invalid') {
      this.#event(request, 'Warning', EventReason.InspectFailed, name.message);
      return failed(WaitingReason.InvalidImageName, name.message);
    }
    const wanted = { ...request, name: name.name };
    this.#deps.credentials.announce(wanted);
    if (wanted.policy === 'Always') return this.#pull(wanted, signal);
    let present: Image | undefined;
    try {
      present = await this.#deps.images.imageStatus(wanted.name, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to inspect image "${wanted.image}": ${runtimeText(error)}`;
      this.#event(wanted, 'Warning', EventReason.InspectFailed, message);
      return failed(WaitingReason.ImageInspectError, message);
    }
    if (present && this.#mayUse(wanted, present)) return this.#alreadyPresent(wanted, present);
    if (wanted.policy === 'Never') return this.#neverPull(wanted, present);
    return this.#pull(wanted, signal);
  }

  /** Forgets the back-offs of a pod that is gone. */
  forget(podUid: string): void {
    this.#backoff.forget(podUid);
  }

  #alreadyPresent(wanted: Wanted, image: Image): ImageOutcome {
    const message = `Container image "${wanted.image}" already present on machine and can be accessed by the pod`;
    this.#event(wanted, 'Normal', EventReason.Pulled, message);
    return { kind: 'ready', image };
  }

  #neverPull(wanted: Wanted, present: Image | undefined): ImageOutcome {
    const text = `Container image "${wanted.image}" is not present with pull policy of Never`;
    const message = present ? text + NOT_FOR_THIS_POD : text;
    this.#event(wanted, 'Warning', EventReason.ErrImageNeverPull, message);
    return failed(WaitingReason.ErrImageNeverPull, message);
  }

  async #pull(wanted: Wanted, signal: AbortSignal): Promise<ImageOutcome> {
    const { podUid, name, image } = wanted;
    const secrets = this.#deps.credentials.secretsOf(wanted);
    const waiting = this.#backoff.waiting(podUid, name);
    // Unlike the kubelet: a pull secret that has come or changed is tried at once.
    if (waiting && isSame(waiting.attempt.secrets, secrets)) {
      const text = `Back-off pulling image "${image}"`;
      this.#event(wanted, 'Normal', EventReason.BackOff, text);
      const { failure } = waiting.attempt;
      const { reason, message } = failure;
      const backOff = failed(
        WaitingReason.ImagePullBackOff,
        `${text}: ${reason}: ${message}`,
        waiting.leftMs,
      );
      return (await this.#cached(wanted, failure, signal)).outcome ?? backOff;
    }
    this.#event(wanted, 'Normal', EventReason.Pulling, `Pulling image "${image}"`);
    try {
      const pulled = await wanted.away(() => this.#pullNow(wanted, signal));
      this.#backoff.worked(podUid, name);
      return { kind: 'ready', image: pulled };
    } catch (error) {
      signal.throwIfAborted();
      const failure = pullFailure(image, error);
      if (error instanceof PullError) this.#deps.ledger.notPulled(name, !failure.unreachable);
      const text = `Failed to pull image "${image}": ${failure.text}`;
      this.#event(wanted, 'Warning', EventReason.Failed, text);
      const { outcome, hint } = await this.#cached(wanted, failure, signal);
      const told = { ...failure, message: failure.message + hint };
      const pauseMs = this.#backoff.failed(podUid, name, { failure: told, secrets });
      return outcome ?? failed(told.reason, told.message, Math.min(pauseMs, LOOK_AGAIN_MS));
    }
  }

  /** What the store has where the registry has failed: an image to use, or else a word about it. */
  async #cached(
    wanted: Wanted,
    failure: PullFailure,
    signal: AbortSignal,
  ): Promise<{ outcome: ImageOutcome | undefined; hint: string }> {
    const nothing = { outcome: undefined, hint: '' };
    const image = await this.#deps.images.imageStatus(wanted.name, signal).catch(() => undefined);
    signal.throwIfAborted();
    if (!image) return nothing;
    if (!this.#mayUse(wanted, image)) return { ...nothing, hint: NOT_FOR_THIS_POD };
    if (!failure.unreachable) return nothing;
    if (this.#imagePolicy(wanted) === 'always-ask')
      return { ...nothing, hint: couldUseCached(image, wanted.name) };
    const text = `registry unreachable, used cached ${digestOf(image, wanted.name)}`;
    this.#event(wanted, 'Warning', EventReason.UsingCachedImage, text);
    return { outcome: { kind: 'ready', image }, hint: '' };
  }

  async #pullNow(wanted: Wanted, signal: AbortSignal): Promise<Image> {
    const { images, clock, pulls, rate, credentials, access, ledger, duration } = this.#deps;
    if (!rate.take()) throw new Error('pull QPS exceeded');
    const asked = clock.monotonic();
    const all = await credentials.credentialsFor(wanted.name, wanted, signal);
    const { image, tookMs } = await pulls.run(0, signal, async () => {
      const started = clock.monotonic();
      const { ref, origin } = await this.#tryEach(wanted, all, signal);
      const pulled =
        (await images.imageStatus(ref, signal)) ?? (await images.imageStatus(wanted.name, signal));
      if (!pulled) throw new Error(`the image is not in the store after the pull of ${ref}`);
      access.pulled(wanted.name, pulled.id, origin);
      ledger.pulled(wanted.name, pulled.id);
      return { image: pulled, tookMs: clock.monotonic() - started };
    });
    const waitedMs = clock.monotonic() - asked;
    duration.observe(tookMs / 1000, { image_size_in_bytes: sizeBucket(image.size) });
    const text = `Successfully pulled image "${wanted.image}" in ${goDuration(tookMs)} (${goDuration(waitedMs)} including waiting). Image size: ${image.size} bytes.`;
    this.#event(wanted, 'Normal', EventReason.Pulled, text);
    return image;
  }

  async #tryEach(
    wanted: Wanted,
    credentials: readonly Credential[],
    signal: AbortSignal,
  ): Promise<{ ref: string; origin: CredentialOrigin }> {
    const { images, access } = this.#deps;
    const { name, sandbox, annotations } = wanted;
    const restricted = credentials.some(({ origin }) => origin.kind === 'secret');
    const giveUp = restricted ? access.begin(name) : undefined;
    const failures = [];
    const anonymous = { auth: undefined, origin: { kind: 'node' } } as const;
    for (const { auth, origin } of credentials.length > 0 ? credentials : [anonymous]) {
      try {
        const ref = await images.pullImage(name, auth, sandbox, annotations, signal);
        return { ref, origin };
      } catch (error) {
        signal.throwIfAborted();
        failures.push(attemptFailure(error, auth));
      }
    }
    giveUp?.();
    throw new PullError(failures);
  }

  #mayUse(wanted: Wanted, image: Image): boolean {
    const { namespace } = wanted.target;
    const secrets = wanted.pullSecrets.map((secret) => secretId(namespace, secret));
    return this.#deps.access.mayUse(wanted.name, image, secrets);
  }

  #imagePolicy(wanted: Wanted): ImagePolicy {
    const { policy, problem } = imagePolicyOf(
      wanted.annotations[Annotation.imagePolicy],
      this.#deps.imagePolicy,
    );
    if (problem !== undefined) this.#event(wanted, 'Warning', EventReason.ManifestWarning, problem);
    return policy;
  }

  #event(request: ImageRequest, type: 'Normal' | 'Warning', reason: string, text: string): void {
    this.#deps.events.event(request.target, type, reason, text);
  }
}

function isSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i]);
}

function failed(reason: WaitingReason, message: string, retryAfterMs?: number): ImageOutcome {
  return { kind: 'failed', reason, message, retryAfterMs };
}
