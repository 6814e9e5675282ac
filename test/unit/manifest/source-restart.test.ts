/** What of the desired state outlives an agent restart, and who keeps a pod that two files have. */
import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Fixture, documents, manifest } from './source-fixture.ts';

const SEEN = 'kubernetes.io/config.seen';

describe('file source over an agent restart', () => {
  let f: Fixture;
  beforeEach(() => {
    f = new Fixture();
  });
  afterEach(() => f.end());

  it('keeps uid and first-seen stamp', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const { uid, annotations } = f.pod('a')?.metadata ?? {};
    assert.match(annotations?.[SEEN] ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    await f.restart();
    assert.equal(f.pod('a')?.metadata.uid, uid);
    assert.equal(f.pod('a')?.metadata.annotations?.[SEEN], annotations?.[SEEN]);
  });

  it('runs the last good content of a file that was broken meanwhile', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const { uid } = f.pod('a')?.metadata ?? {};
    await f.restart(() => f.write('a.yaml', 'broken: yes\n'));
    assert.equal(f.pod('a')?.metadata.uid, uid);
    assert.equal(f.verdict('a.yaml')?.state, 'invalid');
    assert.equal(f.verdict('a.yaml')?.usingLastGood, true);
    await f.restart(); // and once more: the broken file has not become the last good one
    assert.equal(f.pod('a')?.metadata.uid, uid);
  });

  it('takes valid changes, new and deleted files of the time in between at once', async () => {
    f.write('changed.yaml', manifest('changed'));
    f.write('deleted.yaml', manifest('deleted'));
    await f.start();
    await f.restart(() => {
      f.write('changed.yaml', manifest('changed', 'two'));
      rmSync(f.file('deleted.yaml'));
      f.write('new.yaml', manifest('new'));
    });
    assert.deepEqual(f.names(), ['changed', 'new']);
    assert.equal(f.pod('changed')?.metadata.annotations?.extra, 'two');
    await f.restart(() => f.write('deleted.yaml', 'broken: yes\n'));
    assert.deepEqual(f.names(), ['changed', 'new']); // nothing of the deleted file is left
  });

  it('forgets the files of another manifest directory', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    await f.restart(undefined, { path: `${f.dir}-other` });
    assert.deepEqual(f.names(), []);
    assert.deepEqual(f.store.lastGood.all(), []);
  });
});

describe('two files with the same pod', () => {
  let f: Fixture;
  beforeEach(() => {
    f = new Fixture();
  });
  afterEach(() => f.end());

  it('the first to have run stays, the other is reported with both names', async () => {
    f.write('b.yaml', manifest('web', 'first'));
    await f.start();
    const pod = f.pod('web');
    f.publish('a.yaml', manifest('web', 'second'));
    await f.untilState('a.yaml', 'duplicate');
    assert.equal(f.pod('web'), pod);
    const message = f.verdict('a.yaml')?.messages.join() ?? '';
    assert.ok(message.includes(f.file('a.yaml')) && message.includes(f.file('b.yaml')), message);
    assert.equal(f.verdict('b.yaml')?.state, 'accepted');
  });

  it('the same over a restart, even when the first is broken by then', async () => {
    f.write('b.yaml', manifest('web', 'first'));
    await f.start();
    f.publish('a.yaml', manifest('web', 'second'));
    await f.untilState('a.yaml', 'duplicate');
    await f.restart();
    assert.equal(f.pod('web')?.metadata.annotations?.extra, 'first');
    await f.restart(() => f.write('b.yaml', 'broken: yes\n'));
    assert.equal(f.pod('web')?.metadata.annotations?.extra, 'first');
    assert.equal(f.verdict('a.yaml')?.state, 'duplicate');
  });

  it('the second takes over when the first is deleted', async () => {
    f.write('a.yaml', manifest('web', 'first'));
    f.write('b.yaml', manifest('web', 'second'));
    await f.start();
    assert.equal(f.pod('web')?.metadata.annotations?.extra, 'first');
    rmSync(f.file('a.yaml'));
    await f.until('b.yaml', () => f.pod('web')?.metadata.annotations?.extra === 'second');
    assert.equal(f.verdict('b.yaml')?.state, 'accepted');
    await f.restart();
    assert.equal(f.pod('web')?.metadata.annotations?.extra, 'second');
  });

  it('a file that becomes a duplicate keeps the pods that it had', async () => {
    f.write('a.yaml', manifest('web'));
    f.write('b.yaml', manifest('db'));
    await f.start();
    const pod = f.pod('db');
    f.publish('b.yaml', manifest('web', 'other'));
    await f.untilState('b.yaml', 'duplicate');
    assert.equal(f.pod('db'), pod);
    assert.equal(f.verdict('b.yaml')?.usingLastGood, true);
    assert.deepEqual(f.names(), ['web', 'db']);
  });

  it('files that swap their contents are both taken', async () => {
    f.write('a.yaml', manifest('web'));
    f.write('b.yaml', manifest('db'));
    await f.start();
    await f.restart(() => {
      renameSync(f.file('a.yaml'), f.file('c'));
      renameSync(f.file('b.yaml'), f.file('a.yaml'));
      renameSync(f.file('c'), f.file('b.yaml'));
    });
    assert.deepEqual(f.names(), ['db', 'web']);
  });

  it('a pod twice in one file makes the file invalid', async () => {
    f.write('a.yaml', documents(manifest('web'), manifest('web', 'two')));
    await f.start();
    assert.equal(f.verdict('a.yaml')?.state, 'invalid');
    assert.deepEqual(f.names(), []);
  });

  it('a uid of its own that another pod has counts as a duplicate too', async () => {
    f.write('a.yaml', manifest('web', 'one', 'same'));
    f.write('b.yaml', manifest('db', 'one', 'same'));
    await f.start();
    assert.deepEqual(f.names(), ['web']);
    assert.equal(f.verdict('b.yaml')?.state, 'duplicate');
  });
});
