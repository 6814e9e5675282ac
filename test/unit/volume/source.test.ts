import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../src/api/volume.ts';
import { expectedVolumes } from '../../../src/volume/expected.ts';
import { refuseForeign } from '../../../src/volume/source.ts';
import { podWith } from './support.ts';

/** Every source of a v1 Volume that islet does not set up; the type makes a new one a compile error here. */
const FOREIGN: Record<
  Exclude<
    keyof Volume,
    | 'name'
    | 'emptyDir'
    | 'hostPath'
    | 'configMap'
    | 'secret'
    | 'downwardAPI'
    | 'projected'
    | 'image'
    | 'persistentVolumeClaim'
  >,
  object
> = {
  ...{ ephemeral: {}, csi: {}, nfs: {}, iscsi: {}, fc: {}, gcePersistentDisk: {} },
  ...{ awsElasticBlockStore: {}, gitRepo: {}, glusterfs: {}, rbd: {}, flexVolume: {}, cinder: {} },
  ...{ cephfs: {}, flocker: {}, azureFile: {}, azureDisk: {}, vsphereVolume: {}, quobyte: {} },
  ...{ photonPersistentDisk: {}, portworxVolume: {}, scaleIO: {}, storageos: {} },
};

test('every source that islet does not set up is refused by its name', () => {
  assert.equal(Object.keys(FOREIGN).length, 22);
  for (const kind of Object.keys(FOREIGN)) {
    const volume: Volume = { name: 'v', [kind]: {} };
    assert.throws(() => refuseForeign(volume), {
      code: 'unimplemented',
      message: `volumes of type ${kind} are not supported by islet`,
    });
    const roots = { rootDir: '/r', persistentVolumeDir: '/c' };
    assert.equal(expectedVolumes(podWith([volume]), roots).size, 0);
  }
});

test('a volume without a source is an emptyDir', () => {
  assert.doesNotThrow(() => refuseForeign({ name: 'v' }));
});
