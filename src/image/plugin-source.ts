/**
 * Owns: what the credential plugins know of an image: whom to ask, how long an answer is kept and for
 * which images, and that nobody is asked twice at once (spec: gc-logs-images.md §5.2).
 * Invariants: a plugin that fails is one without credentials; the log says that it failed, and how. One that
 * nobody waits for any more, because pods are gone or the agent stops, is ended.
 */
import type { CredentialProvider } from '../config/model.ts';
import type { Registry } from '../metrics/registry.ts';
import type { Counter, Histogram } from '../metrics/registry.ts';
import { aborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { Keyring, matchesImage } from './keyring.ts';
import type { Login } from './keyring.ts';
import type { CacheKeyType, PluginAnswer } from './plugin-answer.ts';
import type { AskPlugin } from './plugin-exec.ts';
import { repositoryOf } from './repository.ts';

export interface PluginSourceDeps {
  readonly providers: readonly CredentialProvider[];
  readonly ask: AskPlugin;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Registry;
}

type Logins = PluginAnswer['auth'];

interface Kept {
  readonly logins: Logins;
  /** Monotonic. */
  readonly untilMs: number;
}

/** A question that a plugin is about to answer. */
interface Question {
  readonly answer: Promise<Logins>;
  readonly stop: AbortController;
  waiting: number;
}

const NOTHING: Logins = new Map();

export class PluginSource {
  readonly #deps: PluginSourceDeps;
  /** By provider, then by what the answer is good for. */
  readonly #kept = new Map<CredentialProvider, Map<string, Kept>>();
  readonly #asking = new Map<string, Question>();
  readonly #duration: Histogram;
  readonly #errors: Counter;

  constructor(deps: PluginSourceDeps) {
    this.#deps = deps;
    this.#duration = deps.metrics.histogram(
      'kubelet_credential_provider_plugin_duration',
      'Duration of execution in seconds for credential provider plugin',
      undefined,
      ['plugin_name'],
    );
    this.#errors = deps.metrics.counter(
      'kubelet_credential_provider_plugin_errors_total',
      'Number of errors from credential provider plugin',
      ['plugin_name'],
    );
  }

  /** `image`: full name as `fullImageName` gives it. Rejects only with the signal's reason. */
  async lookup(image: string, signal: AbortSignal): Promise<readonly Login[]> {
    const ring = new Keyring();
    for (const provider of this.#deps.providers) {
      if (!provider.matchImages.some((pattern) => matchesImage(pattern, image))) continue;
      for (const [key, login] of await this.#loginsFrom(provider, image, signal))
        ring.add(key, login);
    }
    return ring.lookup(repositoryOf(image));
  }

  async #loginsFrom(
    provider: CredentialProvider,
    image: string,
    signal: AbortSignal,
  ): Promise<Logins> {
    signal.throwIfAborted();
    const kept = this.#keptFor(provider, image);
    if (kept) return kept;
    const key = `${provider.name} ${image}`;
    const question = this.#asking.get(key) ?? this.#begin(provider, image);
    this.#asking.set(key, question);
    question.waiting += 1;
    const answered = new AbortController();
    try {
      const gaveUp = aborted(AbortSignal.any([signal, answered.signal])).then(() => NOTHING);
      const logins = await Promise.race([question.answer, gaveUp]);
      signal.throwIfAborted();
      return logins;
    } finally {
      answered.abort();
      question.waiting -= 1;
      if (question.waiting === 0) {
        question.stop.abort(new IsletError('aborted', 'nobody waits for the answer any more'));
        if (this.#asking.get(key) === question) this.#asking.delete(key);
      }
    }
  }

  #begin(provider: CredentialProvider, image: string): Question {
    const stop = new AbortController();
    return { answer: this.#ask(provider, image, stop.signal), stop, waiting: 0 };
  }

  async #ask(provider: CredentialProvider, image: string, signal: AbortSignal): Promise<Logins> {
    const { ask, clock, logger } = this.#deps;
    const labels = { plugin_name: provider.name };
    const startedMs = clock.monotonic();
    try {
      const answer = await ask(provider, image, signal);
      this.#keep(provider, image, answer);
      return answer.auth;
    } catch (error) {
      if (signal.aborted) return NOTHING;
      this.#errors.inc(labels);
      logger.error('a credential plugin gives no credentials', {
        plugin: provider.name,
        image,
        err: error,
      });
      return NOTHING;
    } finally {
      this.#duration.observe((clock.monotonic() - startedMs) / 1000, labels);
    }
  }

  #keep(provider: CredentialProvider, image: string, answer: PluginAnswer): void {
    const forMs = answer.cacheDurationMs ?? provider.defaultCacheDurationMs;
    if (forMs === 0) return;
    const now = this.#deps.clock.monotonic();
    const kept = this.#kept.get(provider) ?? new Map<string, Kept>();
    // There are as many as images were asked about; those that are over make room here.
    for (const [key, { untilMs }] of kept) if (untilMs <= now) kept.delete(key);
    kept.set(keyOf(answer.cacheKeyType, image), { logins: answer.auth, untilMs: now + forMs });
    this.#kept.set(provider, kept);
  }

  #keptFor(provider: CredentialProvider, image: string): Logins | undefined {
    const kept = this.#kept.get(provider);
    if (!kept) return undefined;
    const now = this.#deps.clock.monotonic();
    for (const type of ['Image', 'Registry', 'Global'] as const) {
      const found = kept.get(keyOf(type, image));
      if (found && found.untilMs > now) return found.logins;
    }
    return undefined;
  }
}

/** The spaces keep an image, a registry and the word for all apart. */
function keyOf(type: CacheKeyType, image: string): string {
  switch (type) {
    case 'Image':
      return `image ${image}`;
    case 'Registry':
      return `registry ${image.slice(0, Math.max(0, image.indexOf('/')))}`;
    case 'Global':
      return 'global';
  }
}
