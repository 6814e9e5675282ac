/** Image volumes: the whole agent against a runtime in memory that has them, or has not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerStatus } from '../../src/api/status.ts';
import type { CreateContainerRequest } from '../../src/cri/gen/cri_pb.ts';
import { Bench } from '../support/bench.ts';

const IMAGE = 'docker.io/library/app:1';
const DATA = 'reg.test/data:1';

function container(name: string, ...volumes: string[]): object {
  const volumeMounts = volumes.map((one) => ({ name: one, mountPath: `/${one}`, subPath: 'sub' }));
  return { name, image: IMAGE, imagePullPolicy: 'IfNotPresent', volumeMounts };
}

const spec = {
  volumes: [{ name: 'data', image: { reference: DATA, pullPolicy: 'IfNotPresent' } }],
  containers: [container('reader', 'data'), container('plain')],
};

function statusOf(bench: Bench, name: string): ContainerStatus | undefined {
  return bench.pod('p')?.status.containerStatuses?.find((one) => one.name === name);
}

describe('a pod with an image volume', () => {
  it('has it pulled first, and mounted by the runtime', async (t) => {
    const bench = await Bench.start(t);
    bench.cri.runtime.software = { runtimeName: 'containerd', runtimeVersion: '2.2.6' };
    await bench.startAgent();
    bench.apply('p', spec);
    await bench.until('both run', () =>
      ['reader', 'plain'].every((name) => statusOf(bench, name)?.state.running !== undefined),
    );
    const created = bench.cri
      .callsOf('createContainer')
      .map(({ request }) => (request as CreateContainerRequest).config)
      .find((config) => config?.metadata?.name === 'reader');
    const mount = created?.mounts.find(({ containerPath }) => containerPath === '/data');
    assert.equal(mount?.hostPath, '');
    assert.equal(mount.readonly, true);
    assert.equal(mount.imageSubPath, 'sub');
    assert.equal(mount.image?.image, bench.cri.runtime.images.get(DATA)?.id);
    assert.equal(mount.image?.userSpecifiedImage, DATA);
    assert.equal(mount.image?.annotations['kubernetes.io/config.source'], 'file');
    const pulled = bench
      .events()
      .filter(({ message, fieldPath }) => message.includes(DATA) && !fieldPath)
      .map(({ reason }) => reason);
    assert.deepEqual(pulled.toSorted(), ['Pulled', 'Pulling']);
  });

  it('is refused by field where there are none; its other containers run', async (t) => {
    const bench = await Bench.start(t);
    bench.cri.runtime.software = { runtimeName: 'containerd', runtimeVersion: '1.6.20~ds1' };
    await bench.startAgent();
    bench.apply('p', spec);
    await bench.until('plain runs', () => statusOf(bench, 'plain')?.state.running !== undefined);
    await bench.until('reader waits', () => statusOf(bench, 'reader')?.state.waiting !== undefined);
    const message =
      'spec.volumes[0].image: image volumes need containerd 2.1 or later, this is containerd 1.6.20~ds1';
    assert.deepEqual(statusOf(bench, 'reader')?.state.waiting, {
      reason: 'CreateContainerConfigError',
      message,
    });
    const events = bench.events().filter(({ reason }) => reason === 'Failed');
    assert.deepEqual([...new Set(events.map((event) => event.message))], [`Error: ${message}`]);
  });
});
