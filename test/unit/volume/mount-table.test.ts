import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  mountAt,
  mountHolding,
  mountsBelow,
  parseMountInfo,
} from '../../../src/volume/mount-table.ts';

const TEXT = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /pods/u1/v rw - tmpfs tmpfs rw,size=4096k
41 40 8:1 /srv/a\\040b /pods/u1/v/with\\040space\\134 rw,nosuid shared:1 master:2 - ext4 /dev/sda1 rw
42 22 8:1 /x /pods/u10 ro - ext4 /dev/sda1 rw
43 22 0:36 / /pods/u1/v rw - tmpfs tmpfs rw,size=8192k
nonsense
`;

describe('mount table', () => {
  const entries = parseMountInfo(TEXT);

  it('reads every line that is one', () => {
    assert.equal(entries.length, 5);
    assert.deepEqual(entries[2], {
      mountPoint: '/pods/u1/v/with space\\',
      root: '/srv/a b',
      fsType: 'ext4',
      options: ['rw', 'nosuid', 'rw'],
      shared: true,
    });
  });

  it('finds what is below a directory, latest first, and what is seen at a path', () => {
    assert.deepEqual(
      mountsBelow(entries, '/pods/u1').map((m) => m.mountPoint),
      ['/pods/u1/v', '/pods/u1/v/with space\\', '/pods/u1/v'],
    );
    assert.ok(mountAt(entries, '/pods/u1/v')?.options.includes('size=8192k'));
    assert.equal(mountAt(entries, '/pods/u1'), undefined);
  });

  it('finds the mount that a path lies on', () => {
    const holder = (path: string): [string | undefined, boolean | undefined] => {
      const found = mountHolding(entries, path);
      return [found?.options.join(), found?.shared];
    };
    assert.deepEqual(holder('/pods/u1'), ['rw,relatime,rw', true]);
    assert.deepEqual(holder('/pods/u1/v/x'), ['rw,rw,size=8192k', false]);
    assert.deepEqual(holder('/pods/u10/y'), ['ro,rw', false]);
    assert.equal(mountHolding([], '/x'), undefined);
  });
});
