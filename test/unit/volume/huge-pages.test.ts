import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { Scratch, cannotMount, containerOf, managerOf, podWith, signal } from './support.ts';

const POOL = '/sys/kernel/mm/hugepages/hugepages-2048kB';
const read = (file: string): number => Number(fs.readFileSync(join(POOL, file), 'utf8'));
const PAGES = 2;

/** Why there are no huge pages to test with, or false. */
function cannotReserve(): string | false {
  if (cannotMount !== false) return cannotMount;
  return fs.existsSync(POOL) ? false : 'this kernel has no huge pages of 2 MiB';
}

describe('emptyDir of huge pages', { skip: cannotReserve() }, () => {
  const scratch = new Scratch();
  let reserved = 0;
  const change = (by: number): void => {
    fs.writeFileSync(join(POOL, 'nr_hugepages'), String(read('nr_hugepages') + by));
  };
  before(() => {
    fs.mkdirSync(scratch.root);
    const had = read('nr_hugepages');
    change(PAGES);
    reserved = read('nr_hugepages') - had;
  });
  after(() => {
    scratch.remove();
    change(-reserved);
  });

  const podOf = (medium: string, resource: string): Pod =>
    podWith(
      [{ name: 'h', emptyDir: { medium } }],
      {
        containers: [
          containerOf([{ name: 'h', mountPath: '/h' }], {
            resources: { limits: { [resource]: '4Mi' }, requests: { [resource]: '4Mi' } },
          }),
        ],
      },
      `u-${medium.toLowerCase()}`,
    );

  it('gives the pod pages of the pool, and the pool its pages back', async (t) => {
    if (reserved < PAGES) return t.skip('this machine has no memory in one piece to spare');
    const manager = managerOf(scratch.root);
    for (const medium of ['HugePages', 'HugePages-2Mi']) {
      const pod = podOf(medium, 'hugepages-2Mi');
      const found = (await manager.setUp(pod, signal)).get('h');
      assert.ok(found?.kind === 'path');
      const at = () => scratch.mounts().filter((m) => m.mountPoint === found.hostPath);
      assert.deepEqual(
        at().map((m) => m.fsType),
        ['hugetlbfs'],
      );
      assert.ok(at()[0]?.options.includes('pagesize=2M'));
      const free = read('free_hugepages');
      execFileSync('fallocate', ['-l', String(PAGES * 2 ** 21), join(found.hostPath, 'f')]);
      assert.equal(read('free_hugepages'), free - PAGES);
      await managerOf(scratch.root).setUp(pod, signal);
      assert.equal(at().length, 1);
      await manager.tearDown(pod.metadata.uid, signal);
      assert.equal(at().length, 0);
      assert.equal(read('free_hugepages'), free);
    }
  });

  it('says which page size the machine does not have', async () => {
    const pod = podOf('HugePages-16Mi', 'hugepages-16Mi');
    await assert.rejects(managerOf(scratch.root).setUp(pod, signal), {
      code: 'invalid',
      message:
        'MountVolume.SetUp failed for volume "h" : this machine has no huge pages of size 16Mi',
    });
  });
});
