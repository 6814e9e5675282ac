/** Damaged databases and full disks, with real files: history may go, the agent may not. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { StoreFixture, contents, fill, target } from './store-fixture.ts';

const GARBAGE = Buffer.alloc(4096, 0xa5);

function overwrite(path: string, from: number, to = from + GARBAGE.length): void {
  const fd = openSync(path, 'r+');
  for (let at = from; at < to; at += GARBAGE.length) {
    writeSync(fd, GARBAGE, 0, Math.min(GARBAGE.length, to - at), at);
  }
  closeSync(fd);
}

describe('a damaged database', () => {
  let f: StoreFixture;
  beforeEach(() => {
    f = new StoreFixture();
    f.open();
    for (let i = 0; i < 50; i++) fill(f.store, `pod-${i}`);
    f.store.close();
  });
  afterEach(() => f.end());
  const aside = (): string[] => f.files().filter((name) => name.includes('.damaged-'));

  const damages: [what: string, damage: (path: string) => void][] = [
    ['header', (path) => overwrite(path, 0, 100)],
    ['pages in the middle', (path) => overwrite(path, 4096, statSync(path).size - 4096)],
    ['end cut off', (path) => writeFileSync(path, readFileSync(path).subarray(0, 10_000))],
    ['not a database at all', (path) => writeFileSync(path, 'name: not a database\n'.repeat(100))],
  ];
  for (const [what, damage] of damages) {
    it(`is set aside at the start and made anew: ${what}`, () => {
      damage(f.path);
      const damaged = readFileSync(f.path);
      f.open();
      assert.ok(f.store.recovered);
      assert.deepEqual(aside(), ['state.db.damaged-20260101T000000Z']);
      assert.equal(f.store.recovered.setAside, join(f.dir, aside()[0] ?? ''));
      assert.deepEqual(readFileSync(f.store.recovered.setAside), damaged);
      assert.equal(f.errors().length, 1);
      assert.deepEqual(contents(f.store), []);
      fill(f.store, 'new');
      const before = contents(f.store);
      assert.deepEqual(contents(f.reopen()), before);
      assert.equal(f.store.recovered, undefined);
    });
  }

  it('of a newer islet is set aside as well', () => {
    const db = new Database(f.path);
    db.pragma('user_version = 1000');
    db.close();
    f.open();
    assert.match(f.store.recovered?.reason ?? '', /newer/);
  });

  it('of somebody else is set aside as well', () => {
    rmSync(f.path);
    const db = new Database(f.path);
    db.exec('CREATE TABLE pod (x)');
    db.close();
    f.open();
    assert.equal(aside().length, 1);
    fill(f.store, 'a');
    assert.equal(f.store.trouble, undefined);
  });

  it('keeps the last three that were set aside', () => {
    for (let i = 0; i < 5; i++) {
      writeFileSync(f.path, `damage ${i}`.repeat(1000));
      f.open();
      f.store.close();
    }
    const texts = aside().map((name) => readFileSync(join(f.dir, name), 'utf8').slice(0, 8));
    assert.deepEqual(texts, ['damage 2', 'damage 3', 'damage 4']);
  });

  it('found while running is set aside and written again from memory', () => {
    f.open();
    const before = contents(f.store);
    // Behind the back of the connection; then its cache and log are emptied by writing.
    overwrite(f.path, 0, statSync(f.path).size);
    for (let i = 0; i < 3000 && aside().length === 0; i++) {
      f.store.events.event(target('noise'), 'Normal', 'A', `${i} ${'x'.repeat(1000)}`);
      f.store.flush();
    }
    assert.equal(aside().length, 1);
    assert.equal(f.store.trouble, undefined);
    assert.deepEqual(
      f.notices.map(({ kind }) => kind),
      ['recovered'],
    );
    f.store.flush();
    f.reopen();
    assert.equal(f.store.recovered, undefined);
    const after = new Set(contents(f.store));
    assert.deepEqual(
      before.filter((line) => !line.startsWith('event') && !after.has(line)),
      [],
    );
  });

  it('that was removed while running is made again', () => {
    f.open();
    const before = contents(f.store);
    rmSync(f.path);
    rmSync(`${f.path}-wal`, { force: true });
    fill(f.store, 'new');
    f.reopen();
    const after = new Set(contents(f.store));
    assert.deepEqual(
      before.filter((line) => !after.has(line)),
      [],
    );
    assert.ok(after.has('pod new Running'));
  });
});

describe('a disk that cannot be written', () => {
  let f: StoreFixture;
  beforeEach(() => {
    f = new StoreFixture();
  });
  afterEach(() => f.end());

  it('where the folder cannot be made: memory, said once, and the disk again later', async () => {
    writeFileSync(join(f.dir, 'file'), '');
    f.path = join(f.dir, 'file', 'state.db');
    f.open();
    assert.match(f.store.trouble ?? '', /ENOTDIR|EEXIST/);
    fill(f.store, 'a');
    fill(f.store, 'b');
    const before = contents(f.store);
    assert.equal(before.length, 12);
    assert.equal(f.errors().length, 1);
    rmSync(join(f.dir, 'file'));
    f.store.firstSeen.put('c', 1); // too soon for the next try
    assert.notEqual(f.store.trouble, undefined);
    await f.clock.advance(10_000);
    f.store.firstSeen.put('d', 1);
    assert.equal(f.store.trouble, undefined);
    f.reopen();
    assert.deepEqual(contents(f.store), [...before, 'seen c 1', 'seen d 1'].sort());
  });

  it('that comes back with an older database: what is newer wins, the rest is there', async () => {
    f.open();
    fill(f.store, 'old');
    f.store.firstSeen.put('both', 1);
    f.store.close();
    const path = f.path;
    mkdirSync(join(f.dir, 'blocked'));
    f.path = join(f.dir, 'blocked');
    f.open(); // a directory in the database's place
    f.store.firstSeen.put('both', 2);
    f.store.firstSeen.put('new', 3);
    f.store.events.event(target('new'), 'Normal', 'Started', 'started new');
    rmSync(join(f.dir, 'blocked'), { recursive: true });
    writeFileSync(join(f.dir, 'blocked'), readFileSync(path));
    await f.clock.advance(10_000);
    assert.equal(f.store.flush(), true);
    f.reopen();
    assert.deepEqual([f.store.firstSeen.get('both'), f.store.firstSeen.get('new')], [2, 3]);
    assert.equal(f.store.restarts.get('old', 'app')?.count, 3);
    assert.deepEqual(
      f.store.events.list().map(({ message }) => message),
      ['started old', 'started new'],
    );
  });

  it('because another process has the database: memory until it lets go', async () => {
    f.open();
    fill(f.store, 'a');
    f.store.close();
    const other = new Database(f.path);
    other.pragma('locking_mode = EXCLUSIVE');
    other.exec('BEGIN EXCLUSIVE');
    f.open();
    assert.match(f.store.trouble ?? '', /locked/);
    f.store.firstSeen.put('b', 1);
    other.close();
    await f.clock.advance(10_000);
    assert.equal(f.store.flush(), true);
    assert.equal(f.store.recovered, undefined);
    assert.deepEqual(f.store.firstSeen.uids().sort(), ['a', 'b']);
  });

  it('that is full: nothing is lost, and it is written when there is room', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('mounting needs root');
    const mount = join(f.dir, 'small');
    mkdirSync(mount);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'islet-test', mount]);
    } catch {
      return t.skip('mount is not allowed here');
    }
    try {
      f.path = join(mount, 'state.db');
      f.open();
      fill(f.store, 'early');
      fillDisk(join(mount, 'ballast'));
      for (let i = 0; i < 20; i++) fill(f.store, `full-${i}`);
      assert.match(f.store.trouble ?? '', /full/);
      assert.equal(f.errors().length, 1);
      const before = contents(f.store);
      assert.equal(before.length, 21 * 6);
      rmSync(join(mount, 'ballast'));
      await f.clock.advance(10_000);
      f.store.firstSeen.put('trigger', 1);
      assert.equal(f.store.trouble, undefined);
      assert.deepEqual(
        f.notices.map(({ kind }) => kind),
        ['memory-only', 'on-disk-again'],
      );
      f.reopen();
      assert.deepEqual(contents(f.store), [...before, 'seen trigger 1'].sort());
    } finally {
      f.store.close();
      execFileSync('umount', [mount]);
    }
    return undefined;
  });
});

function fillDisk(path: string): void {
  const fd = openSync(path, 'w');
  try {
    for (;;) writeSync(fd, GARBAGE);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    closeSync(fd);
  }
}
