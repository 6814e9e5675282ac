/** Who may use an image, over a restart of the agent. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { StoreFixture } from './store-fixture.ts';

const RECORD = {
  'reg.test/app': { everyone: false, secrets: ['default/team'] },
  'reg.test/free': { everyone: true, secrets: [] },
};

describe('image access records', () => {
  let f: StoreFixture;
  beforeEach(() => {
    f = new StoreFixture();
    f.open();
  });
  afterEach(() => f.end());

  it('outlive the agent, and so does a pull that did not end', () => {
    f.store.imageAccess.put('sha256:1', RECORD);
    f.store.imageAccess.put('sha256:2', {});
    f.store.imageAccess.delete('sha256:2');
    assert.equal(f.store.imageAccess.beginPull('reg.test/app:1'), true);
    assert.equal(f.store.imageAccess.beginPull('reg.test/app:1'), false);
    f.store.imageAccess.beginPull('reg.test/app:2');
    f.store.imageAccess.endPull('reg.test/app:2');
    f.reopen();
    assert.deepEqual(f.store.imageAccess.images(), ['sha256:1']);
    assert.deepEqual(f.store.imageAccess.get('sha256:1'), RECORD);
    assert.ok(f.store.imageAccess.isPulling('reg.test/app:1'));
    assert.ok(!f.store.imageAccess.isPulling('reg.test/app:2'));
  });

  it('a row that is damaged lets nobody in', () => {
    f.store.imageAccess.put('sha256:1', RECORD);
    f.store.close();
    const db = new Database(f.path);
    db.exec("UPDATE image_access SET access = '{\"reg'");
    db.close();
    f.open();
    assert.deepEqual(f.store.imageAccess.get('sha256:1'), {});
  });

  it('an older database gets the tables', () => {
    f.store.close();
    const db = new Database(f.path);
    db.exec(
      'DROP TABLE image_access; DROP TABLE image_pulling; DROP TABLE image_source; DROP TABLE registry; DROP TABLE eviction; PRAGMA user_version = 2',
    );
    db.close();
    f.open();
    assert.deepEqual(f.errors(), []);
    f.store.imageAccess.put('sha256:1', RECORD);
    f.reopen();
    assert.deepEqual(f.store.imageAccess.get('sha256:1'), RECORD);
  });
});
