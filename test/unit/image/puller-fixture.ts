/** Owns: what the tests of the puller share: a puller with everything around it as data. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import type { PullPolicy } from '../../../src/api/pod.ts';
import type { ImagePolicy, VerificationPolicy } from '../../../src/config/model.ts';
import { callError } from '../../../src/cri/errors.ts';
import type { Image } from '../../../src/cri/model.ts';
import { ImageAccess } from '../../../src/image/access.ts';
import { pullDuration } from '../../../src/image/pull-metric.ts';
import { ImagePuller } from '../../../src/image/puller.ts';
import type { Credential, ImageOutcome } from '../../../src/image/puller.ts';
import { TokenBucket } from '../../../src/image/token-bucket.ts';
import { Registry as Metrics } from '../../../src/metrics/registry.ts';
import { openStore } from '../../../src/store/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { Limiter } from '../../../src/util/limiter.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock } from '../../support/clock.ts';

export const NAME = 'reg.test/app:1';
const { signal } = new AbortController();
export const HEAD = `failed to pull and unpack image "${NAME}": failed to resolve image: failed to do request: Head "https://reg.test/v2/app/manifests/1": `;
export const REFUSED = `${HEAD}dial tcp 192.0.2.7:443: connect: connection refused`;
export const UNREACHABLE = callError('PullImage', NAME, 2, REFUSED);
export const DENIED = callError('PullImage', NAME, 2, `${HEAD.slice(0, -1)} denied`);

export interface Wish {
  policy?: PullPolicy;
  image?: string;
  uid?: string;
  secrets?: string[];
  annotations?: Record<string, string>;
}

/** An image puller over a runtime and a registry of data, its access records in a real store. */
export class Registry {
  readonly clock = new ManualClock();
  readonly events: string[] = [];
  readonly present = new Map<string, Image>();
  readonly users: string[] = [];
  credentials: readonly Credential[] = [];
  imagePolicy: ImagePolicy = 'always-ask';
  verification: VerificationPolicy = 'NeverVerifyPreloadedImages';
  broken: Error | undefined;
  /** Fails all but this user. */
  onlyFor: string | undefined;
  readonly store = memoryStore(this.clock);
  /** What the image ledger was told. */
  readonly ledger: string[] = [];
  #puller: ImagePuller | undefined;

  get pulls(): number {
    return this.users.length;
  }

  get puller(): ImagePuller {
    return (this.#puller ??= new ImagePuller({
      clock: this.clock,
      events: { event: (_, __, reason, message) => void this.events.push(`${reason}: ${message}`) },
      pulls: new Limiter({ slots: 1, patienceMs: 1e6, clock: this.clock }),
      rate: new TokenBucket({ clock: this.clock, perSecond: 5, burst: 10 }),
      credentials: {
        announce: () => undefined,
        secretsOf: () => this.credentials,
        credentialsFor: () => Promise.resolve(this.credentials),
      },
      access: new ImageAccess({
        policy: this.verification,
        allowlist: ['reg.test/free/*'],
        records: this.store.imageAccess,
      }),
      ledger: {
        used: (id) => void this.ledger.push(`used ${id}`),
        pulled: (name, id) => void this.ledger.push(`pulled ${name} ${id}`),
        notPulled: (name, answered) =>
          void this.ledger.push(`${answered ? 'refused' : 'silent'} ${name}`),
      },
      imagePolicy: this.imagePolicy,
      duration: pullDuration(new Metrics()),
      images: {
        imageStatus: (name) => Promise.resolve(this.present.get(name)),
        pullImage: (name, auth) => this.#pull(name, auth?.username ?? '-'),
        listImages: () => Promise.resolve([]),
        removeImage: () => Promise.resolve(),
        fsUsage: () => Promise.resolve({ images: [], containers: [] }),
      },
    }));
  }

  #pull(name: string, user: string): Promise<string> {
    this.users.push(user);
    const refused = this.onlyFor !== undefined && user !== this.onlyFor;
    const error = this.broken ?? (refused ? new IsletError('failed', `no for ${user}`) : undefined);
    if (error) return Promise.reject(error);
    this.add(name);
    return Promise.resolve(name);
  }

  add(name: string): void {
    const image = {
      id: `sha256:${name}`,
      repoTags: [name],
      repoDigests: ['other.test/x@sha256:other', 'reg.test/app@sha256:manifest'],
      size: 7,
      username: '',
      pinned: false,
    };
    this.present.set(name, image);
  }

  /** `retryAfterMs` undefined is shown as such. */
  async ensure(wish: PullPolicy | Wish, image = NAME): Promise<string> {
    const outcome = await this.outcome(typeof wish === 'string' ? { policy: wish, image } : wish);
    return outcome.kind === 'ready'
      ? outcome.image.id
      : `${outcome.reason} ${outcome.retryAfterMs}`;
  }

  outcome(wish: Wish): Promise<ImageOutcome> {
    const {
      policy = 'IfNotPresent',
      image = NAME,
      uid = 'u',
      secrets = [],
      annotations = {},
    } = wish;
    const target = { kind: 'Pod', namespace: 'default', name: 'p', uid } as const;
    const request = {
      podUid: uid,
      ...{ target, image, policy, annotations, pullSecrets: secrets, sandbox: undefined },
      away: <T>(pull: () => Promise<T>): Promise<T> => pull(),
    };
    return this.puller.ensure(request, signal);
  }
}

const stores: { dir: string; store: Store }[] = [];

function memoryStore(clock: ManualClock): Store {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-puller-'));
  const logger = createLogger({ sink: { write: () => undefined }, level: 'error', wall: () => 0 });
  const limits = { maxEvents: 10, maxAgeMs: 1e6 };
  const store = openStore({ path: path.join(dir, 'islet.db'), clock, logger, limits });
  stores.push({ dir, store });
  return store;
}

after(() => {
  for (const { dir, store } of stores) {
    store.close();
    fs.rmSync(dir, { recursive: true });
  }
});

export const ofNode = (username: string, password = 'pw'): Credential => ({
  auth: { username, password },
  origin: { kind: 'node' },
});
export const ofSecret = (name: string, password = 'pw'): Credential => ({
  auth: { username: name, password },
  origin: { kind: 'secret', secret: `default/${name}` },
});
