import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PullPolicy } from '../../../src/api/pod.ts';
import type { Image } from '../../../src/cri/model.ts';
import { ImagePuller } from '../../../src/image/puller.ts';
import { TokenBucket } from '../../../src/image/token-bucket.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { Limiter } from '../../../src/util/limiter.ts';
import { ManualClock } from '../../support/clock.ts';

const NAME = 'reg.test/app:1';
const { signal } = new AbortController();

class Registry {
  readonly clock = new ManualClock();
  readonly events: string[] = [];
  readonly present = new Map<string, Image>();
  pulls = 0;
  broken: Error | undefined;
  readonly puller = new ImagePuller({
    clock: this.clock,
    events: { event: (_, __, reason, message) => void this.events.push(`${reason}: ${message}`) },
    pulls: new Limiter({ slots: 1, patienceMs: 1e6, clock: this.clock }),
    rate: new TokenBucket({ clock: this.clock, perSecond: 5, burst: 10 }),
    credentials: { credentialsFor: () => Promise.resolve([]) },
    images: {
      imageStatus: (name) => Promise.resolve(this.present.get(name)),
      pullImage: (name) => {
        this.pulls++;
        if (this.broken) return Promise.reject(this.broken);
        this.add(name);
        return Promise.resolve(name);
      },
      listImages: () => Promise.resolve([]),
      removeImage: () => Promise.resolve(),
      imageFsInfo: () => Promise.resolve([]),
    },
  });

  add(name: string): void {
    const image = {
      id: `sha256:${name}`,
      repoTags: [name],
      repoDigests: [],
      size: 7,
      username: '',
      pinned: false,
    };
    this.present.set(name, image);
  }

  async ensure(policy: PullPolicy, image = NAME): Promise<string> {
    const target = { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u' } as const;
    const away = <T>(pull: () => Promise<T>): Promise<T> => pull();
    const request = {
      podUid: 'u',
      target,
      image,
      policy,
      annotations: {},
      sandbox: undefined,
      away,
    };
    const outcome = await this.puller.ensure(request, signal);
    return outcome.kind === 'ready'
      ? outcome.image.id
      : `${outcome.reason} ${outcome.retryAfterMs}`;
  }
}

describe('pull policies', () => {
  it('IfNotPresent pulls once', async () => {
    const r = new Registry();
    assert.equal(await r.ensure('IfNotPresent'), `sha256:${NAME}`);
    assert.equal(await r.ensure('IfNotPresent'), `sha256:${NAME}`);
    assert.equal(r.pulls, 1);
    assert.deepEqual(r.events, [
      `Pulling: Pulling image "${NAME}"`,
      `Pulled: Successfully pulled image "${NAME}" in 0µs (0µs including waiting). Image size: 7 bytes.`,
      `Pulled: Container image "${NAME}" already present on machine and can be accessed by the pod`,
    ]);
  });

  it('Always asks the registry each time', async () => {
    const r = new Registry();
    r.add(NAME);
    await r.ensure('Always');
    await r.ensure('Always');
    assert.equal(r.pulls, 2);
  });

  it('Never does not pull, and takes an image that was imported meanwhile', async () => {
    const r = new Registry();
    assert.equal(await r.ensure('Never'), 'ErrImageNeverPull undefined');
    assert.equal(r.pulls, 0);
    r.add(NAME);
    assert.equal(await r.ensure('Never'), `sha256:${NAME}`);
  });

  it('a name that no registry could serve is told without asking one', async () => {
    const r = new Registry();
    assert.equal(await r.ensure('Always', 'CaptainAmerica'), 'InvalidImageName undefined');
    assert.equal(r.pulls, 0);
  });
});

describe('back-off of failed pulls', () => {
  it('10 s doubling to 5 minutes, told with the failure before it', async () => {
    const r = new Registry();
    r.broken = new IsletError('failed', 'no route to host');
    const delays: number[] = [];
    for (let i = 0; i < 7; i++) {
      assert.match(await r.ensure('IfNotPresent'), /^ErrImagePull /);
      const waiting = await r.ensure('IfNotPresent');
      assert.match(waiting, /^ImagePullBackOff /);
      const ms = Number(waiting.split(' ')[1]);
      delays.push(ms / 1000);
      await r.clock.advance(ms);
    }
    assert.deepEqual(delays, [10, 20, 40, 80, 160, 300, 300]);
    assert.ok(r.events.includes(`BackOff: Back-off pulling image "${NAME}"`));
    assert.equal(r.pulls, 7);
  });

  it('a success forgets it', async () => {
    const r = new Registry();
    r.broken = new IsletError('failed', 'x');
    await r.ensure('Always');
    await r.clock.advance(10_000);
    r.broken = undefined;
    assert.equal(await r.ensure('Always'), `sha256:${NAME}`);
    r.broken = new IsletError('failed', 'x');
    assert.equal(await r.ensure('Always'), 'ErrImagePull 10000');
  });

  it('names the two kinds of failure that the runtime marks', async () => {
    const r = new Registry();
    r.broken = new IsletError('failed', 'RegistryUnavailable: connection refused');
    assert.match(await r.ensure('Always'), /^RegistryUnavailable /);
    await r.clock.advance(10_000);
    r.broken = new IsletError('failed', 'SignatureValidationFailed: bad key');
    assert.match(await r.ensure('Always'), /^SignatureValidationFailed /);
  });
});
