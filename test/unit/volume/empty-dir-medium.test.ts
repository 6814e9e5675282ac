import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { mediumOf } from '../../../src/volume/empty-dir-medium.ts';
import { kernelHasNoswap } from '../../../src/volume/empty-dir.ts';
import { MIB, containerOf, podWith } from './support.ts';

const NODE = 512 * MIB;

function podOf(...memoryLimits: (string | undefined)[]): Pod {
  const containers = memoryLimits.map((memory) =>
    containerOf([], { resources: memory === undefined ? {} : { limits: { memory } } }),
  );
  return podWith([], { containers });
}

const sizeOf = (pod: Pod, sizeLimit?: string): number => {
  const medium = mediumOf(
    sizeLimit === undefined ? { medium: 'Memory' } : { medium: 'Memory', sizeLimit },
    pod,
    NODE,
  );
  assert.equal(medium.kind, 'memory');
  return (medium.sizeBytes ?? Number.NaN) / MIB;
};

describe('emptyDir medium', () => {
  it('bounds a tmpfs by the node, by a pod that is bounded, and by its own limit', () => {
    assert.equal(sizeOf(podOf(undefined)), 512);
    assert.equal(sizeOf(podOf('100Mi', '50Mi')), 150);
    assert.equal(sizeOf(podOf('100Mi', undefined)), 512);
    assert.equal(sizeOf(podOf('100Mi'), '4Mi'), 4);
    assert.equal(sizeOf(podOf('100Mi'), '4Gi'), 100);
    assert.equal(sizeOf(podOf(undefined), '0'), 512);
    const podLevel = podOf(undefined);
    podLevel.spec.resources = { limits: { memory: '32Mi' } };
    assert.equal(sizeOf(podLevel), 32);
    assert.deepEqual(mediumOf({ medium: 'Memory' }, podOf(undefined), 0), {
      kind: 'memory',
      sizeBytes: undefined,
    });
  });

  it('takes the page size from the medium or from the only one that is requested', () => {
    const huge = (...sizes: string[]): Pod =>
      podWith([], {
        containers: sizes.map((size) =>
          containerOf([], { resources: { requests: { [`hugepages-${size}`]: '4Mi' } } }),
        ),
      });
    const two = huge('2Mi', '2048Ki');
    assert.deepEqual(mediumOf({ medium: 'HugePages' }, two, NODE), {
      kind: 'hugepages',
      pageBytes: 2 * MIB,
    });
    const both = huge('2Mi', '1Gi');
    assert.deepEqual(mediumOf({ medium: 'HugePages-1Gi' }, both, NODE), {
      kind: 'hugepages',
      pageBytes: 1024 * MIB,
    });
    assert.throws(() => mediumOf({ medium: 'HugePages' }, both, NODE), {
      code: 'invalid',
      message: "medium: HugePages can't be used if container requests multiple huge page sizes",
    });
    const podLevel = podOf(undefined);
    podLevel.spec.resources = { requests: { 'hugepages-1Gi': '1Gi' } };
    assert.deepEqual(mediumOf({ medium: 'HugePages' }, podLevel, NODE), {
      kind: 'hugepages',
      pageBytes: 1024 * MIB,
    });
    assert.throws(() => mediumOf({ medium: 'HugePages-1Gi' }, two, NODE), { code: 'invalid' });
    assert.throws(() => mediumOf({ medium: 'HugePages' }, podOf('1Gi'), NODE), {
      message:
        'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
    });
    assert.throws(() => mediumOf({ medium: 'Floppy' }, two, NODE), { code: 'invalid' });
  });

  it('knows which kernels can keep a tmpfs out of swap', () => {
    assert.deepEqual(
      ['5.10.0-1', '6.1.0-18-amd64', '6.3.0', '6.18.4', '7.0'].map(kernelHasNoswap),
      [false, false, true, true, true],
    );
  });
});
