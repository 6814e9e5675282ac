import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod } from '../../../src/api/pod.ts';
import type { RuntimeVersion } from '../../../src/cri/model.ts';
import type { ImageOutcome } from '../../../src/image/puller.ts';
import { ensureVolumeImages, imageVolumeProblem } from '../../../src/runtime/image-volumes.ts';
import type { VolumeImages, VolumeImagesOutcome } from '../../../src/runtime/image-volumes.ts';
import { IsletError } from '../../../src/util/errors.ts';

function version(runtimeVersion: string, runtimeName = 'containerd'): RuntimeVersion {
  return { version: '0.1.0', runtimeName, runtimeVersion, runtimeApiVersion: 'v1' };
}

describe('whether a runtime has image volumes', () => {
  for (const able of ['2.1.0', 'v2.1.9+unknown', '2.2.0-beta.1', '3.0.0', 'unknown'])
    it(`containerd ${able}: yes, or nobody knows`, () => {
      assert.equal(imageVolumeProblem(version(able), 'whole'), undefined);
    });
  for (const unable of ['1.6.20~ds1', '1.7.24~ds1', '2.0.5'])
    it(`containerd ${unable}: no`, () => {
      assert.equal(
        imageVolumeProblem(version(unable), 'whole'),
        `image volumes need containerd 2.1 or later, this is containerd ${unable}`,
      );
    });
  it('another runtime says so itself', () => {
    assert.equal(imageVolumeProblem(version('1.33.0', 'cri-o'), 'whole'), undefined);
  });
});

const volumes = [
  { name: 'plain', emptyDir: {} },
  { name: 'one', image: { reference: 'reg.test/one:1', pullPolicy: 'Always' } },
  { name: 'two', image: { reference: 'reg.test/two:1' } },
];
const pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { volumes, containers: [] },
} as unknown as Pod;

function mounting(...names: string[]): Container {
  return {
    name: 'c',
    volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })),
  } as Container;
}

class Puller {
  readonly asked: string[] = [];
  readonly broken = new Set<string>();
  runtime: () => Promise<RuntimeVersion> = () => Promise.resolve(version('2.1.9'));

  ensure(request: { image: string; policy: string; target: object }): Promise<ImageOutcome> {
    const { image, policy, target } = request;
    this.asked.push(`${policy} ${image}`);
    // The events are the pod's: the volume is no container's alone.
    assert.deepEqual(target, { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u' });
    if (this.broken.has(image)) {
      const retryAfterMs = 10_000;
      return Promise.resolve({
        kind: 'failed',
        reason: 'ErrImagePull',
        message: image,
        retryAfterMs,
      });
    }
    const id = `sha256:${image}`;
    const rest = { repoTags: [], repoDigests: [], size: 1, username: '', pinned: false };
    return Promise.resolve({ kind: 'ready', image: { id, ...rest } });
  }

  for(container: Container, volumeImages: VolumeImages = new Map()): Promise<VolumeImagesOutcome> {
    const deps = { puller: this, runtime: { version: () => this.runtime() } };
    const base = { podUid: 'u', pullSecrets: [], annotations: {}, sandbox: undefined };
    const away = <T>(pull: () => Promise<T>): Promise<T> => pull();
    const { signal } = new AbortController();
    return ensureVolumeImages(deps, { pod, volumeImages }, container, { ...base, away }, signal);
  }
}

describe('the images of image volumes', () => {
  it('those that the container mounts, each once a sync', async () => {
    const puller = new Puller();
    const sync: VolumeImages = new Map();
    assert.deepEqual(await puller.for(mounting('plain', 'one', 'one'), sync), {
      kind: 'ready',
      refs: new Map([['one', 'sha256:reg.test/one:1']]),
    });
    const both = await puller.for(mounting('two', 'one'), sync);
    assert.ok(both.kind === 'ready' && both.refs.size === 2);
    assert.deepEqual(puller.asked, ['Always reg.test/one:1', 'IfNotPresent reg.test/two:1']);
  });

  it('a failure is that of the containers that mount it', async () => {
    const puller = new Puller();
    puller.broken.add('reg.test/one:1');
    const sync: VolumeImages = new Map();
    const failed = await puller.for(mounting('one', 'two'), sync);
    assert.deepEqual(failed, {
      kind: 'failed',
      reason: 'ErrImagePull',
      message: 'reg.test/one:1',
      retryAfterMs: 10_000,
    });
    assert.equal((await puller.for(mounting('two'), sync)).kind, 'ready');
  });

  it('a runtime without image volumes is not even asked to pull', async () => {
    const puller = new Puller();
    puller.runtime = () => Promise.resolve(version('1.6.20~ds1'));
    assert.deepEqual(await puller.for(mounting('two')), {
      kind: 'refused',
      reason: 'CreateContainerConfigError',
      message:
        'spec.volumes[2].image: image volumes need containerd 2.1 or later, this is containerd 1.6.20~ds1',
    });
    assert.equal((await puller.for(mounting('plain'))).kind, 'ready');
    assert.deepEqual(puller.asked, []);
  });

  it('nor one that would mount the whole in the place of a part', async () => {
    const puller = new Puller();
    const part = mounting('plain', 'two');
    part.volumeMounts?.splice(1, 1, { name: 'two', mountPath: '/two', subPath: 'etc' });
    assert.deepEqual(await puller.for(part), {
      kind: 'refused',
      reason: 'CreateContainerConfigError',
      message:
        'volumeMounts[1].subPath of container "c": a sub path of an image volume needs containerd 2.2 or later, this is containerd 2.1.9',
    });
    puller.runtime = () => Promise.resolve(version('2.2.0'));
    assert.equal((await puller.for(part)).kind, 'ready');
  });

  it('nor one that does not say what it is', async () => {
    const puller = new Puller();
    puller.runtime = () => Promise.reject(new IsletError('unavailable', 'Version: nobody answers'));
    const outcome = await puller.for(mounting('one'));
    assert.ok(outcome.kind === 'refused');
    assert.equal(outcome.message, 'spec.volumes[1].image: Version: nobody answers');
  });
});
