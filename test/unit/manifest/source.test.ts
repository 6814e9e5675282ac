/** What happens to pods when files come, change and go, on a real directory with a real watcher. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Fixture, documents, manifest } from './source-fixture.ts';

describe('file source', () => {
  let f: Fixture;
  beforeEach(() => {
    f = new Fixture();
  });
  afterEach(() => f.end());

  it('delivers the files that are there, in byte order, before start resolves', async () => {
    for (const name of ['b.yaml', 'a.json', 'B.yml', 'é.manifest']) {
      f.write(name, manifest(`pod-${name.slice(0, 1).codePointAt(0)}`));
    }
    const source = await f.start();
    assert.deepEqual(f.names(), ['pod-66', 'pod-97', 'pod-98', 'pod-233']);
    assert.deepEqual(
      source.current().map(({ order }) => order),
      [0, 1, 2, 3],
    );
  });

  it('resolves start with an empty set when there is nothing', async () => {
    await f.start();
    assert.deepEqual(f.source.current(), []);
  });

  it('takes a file that is renamed into place, and drops it when it is deleted', async () => {
    await f.start();
    f.publish('web.yaml', manifest('web'));
    await f.untilNames('web');
    assert.equal(f.verdict('web.yaml')?.state, 'accepted');
    assert.deepEqual(f.verdict('web.yaml')?.pods, ['default/web']);
    rmSync(f.file('web.yaml'));
    await f.untilNames();
    assert.equal(f.verdict('web.yaml'), undefined);
  });

  it('gives every changed pod a new object and leaves the others as they are', async () => {
    f.write('a.yaml', manifest('a'));
    f.write('b.yaml', manifest('b'));
    await f.start();
    const [a, b] = [f.pod('a'), f.pod('b')];
    f.publish('a.yaml', manifest('a', 'two'));
    await f.until('a changed', () => f.pod('a') !== a);
    assert.equal(f.pod('b'), b);
    assert.notEqual(f.pod('a')?.metadata.uid, a?.metadata.uid);
  });

  it('updates a pod with a uid of its own in place', async () => {
    f.write('a.yaml', manifest('a', 'one', 'mine'));
    await f.start();
    const before = f.pod('a')?.metadata.annotations;
    f.publish('a.yaml', manifest('a', 'two', 'mine'));
    await f.until('a changed', () => f.pod('a')?.metadata.annotations?.extra === 'two');
    const seen = 'kubernetes.io/config.seen';
    assert.equal(f.pod('a')?.metadata.annotations?.[seen], before?.[seen]);
  });

  it('decodes nothing and tells nobody when the same bytes are written again', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const pod = f.pod('a');
    f.publish('a.yaml', manifest('a'));
    f.publish('b.yaml', manifest('b')); // a later change that is seen proves that the first was
    await f.untilNames('a', 'b');
    assert.equal(f.pod('a'), pod);
    assert.equal(f.decoded.filter((text) => text === manifest('a')).length, 1);
  });

  it('keeps the pod object when only a comment changed', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const pod = f.pod('a');
    f.publish('a.yaml', `# why\n${manifest('a')}`);
    await f.until('the comment is read', () => f.decoded.at(-1)?.startsWith('#') === true);
    f.publish('b.yaml', manifest('b'));
    await f.untilNames('a', 'b');
    assert.equal(f.pod('a'), pod);
    assert.equal(f.sets.length, 2);
  });

  it('keeps the last good pods of a file that turned invalid, and says where the error is', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const pod = f.pod('a');
    f.publish('a.yaml', 'nonsense: true\n');
    await f.untilState('a.yaml', 'invalid');
    assert.equal(f.pod('a'), pod);
    const verdict = f.verdict('a.yaml');
    assert.equal(verdict?.usingLastGood, true);
    assert.deepEqual(verdict?.messages, [`${f.file('a.yaml')}:1: metadata.name: a name is needed`]);
    const [event] = f.store.events.list({ uid: pod?.metadata.uid });
    assert.equal(event?.reason, 'ManifestRejected');
    assert.match(event.message, /a name is needed; the pod stays as it was/);
    f.publish('a.yaml', manifest('a', 'two'));
    await f.untilState('a.yaml', 'accepted');
    assert.equal(f.pod('a')?.metadata.annotations?.extra, 'two');
    const warned = f.logs.filter(
      ({ level, file }) => level === 'warn' && file === f.file('a.yaml'),
    );
    assert.equal(warned.length, 1);
  });

  it('keeps the pod of a file that was emptied or commented out', async () => {
    f.write('a.yaml', manifest('a'));
    f.write('b.yaml', manifest('b'));
    await f.start();
    truncateSync(f.file('a.yaml'));
    f.publish('b.yaml', '# nothing left\n');
    await f.untilState('a.yaml', 'invalid');
    await f.untilState('b.yaml', 'invalid');
    assert.deepEqual(f.names(), ['a', 'b']);
  });

  it('removes a pod whose document is gone from a valid file, and hands out config objects', async () => {
    f.write('a.yaml', documents(manifest('a'), manifest('b')));
    await f.start();
    assert.deepEqual(f.names(), ['a', 'b']);
    f.publish('a.yaml', documents(manifest('b'), 'kind: ConfigMap\nname: settings\n'));
    await f.untilNames('b');
    assert.ok(f.source.configs.configMap('default', 'settings'));
  });

  it('ignores what is no manifest and says why', async () => {
    mkdirSync(f.file('sub.yaml'));
    execFileSync('mkfifo', [f.file('pipe.yaml')]);
    for (const name of ['.hidden.yaml', 'a.yaml~', 'a.yaml.bak', 'README'])
      f.write(name, manifest('x'));
    await f.start();
    assert.deepEqual(f.names(), []);
    const reasons = Object.fromEntries(
      f.source.verdicts().map(({ file, state, messages }) => {
        assert.equal(state, 'ignored');
        return [file.slice(f.dir.length + 1), messages.join().slice(file.length + 2)];
      }),
    );
    assert.match(reasons['sub.yaml'] ?? '', /directory/);
    assert.match(reasons['pipe.yaml'] ?? '', /fifo/);
    assert.match(reasons['.hidden.yaml'] ?? '', /hidden/);
    assert.match(reasons['a.yaml~'] ?? '', /extension \.yaml~/);
    assert.match(reasons['a.yaml.bak'] ?? '', /extension \.bak/);
    assert.match(reasons['README'] ?? '', /no extension/);
  });

  it('refuses a file above 10 MiB and keeps what it had', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    truncateSync(f.file('a.yaml'), 10 * 2 ** 20 + 1);
    await f.untilState('a.yaml', 'invalid');
    assert.deepEqual(f.names(), ['a']);
  });

  it('follows links, also when what they lead through is swapped', async () => {
    for (const version of ['one', 'two']) {
      mkdirSync(f.file(`..${version}`));
      writeFileSync(f.file(`..${version}/a.yaml`), manifest('a', version));
    }
    symlinkSync('..one', f.file('..data'));
    symlinkSync('..data/a.yaml', f.file('a.yaml'));
    await f.start();
    assert.equal(f.pod('a')?.metadata.annotations?.extra, 'one');
    symlinkSync('..two', f.file('..next'));
    renameSync(f.file('..next'), f.file('..data'));
    await f.until('the other version', () => f.pod('a')?.metadata.annotations?.extra === 'two');
    rmSync(f.file('..data'));
    await f.untilState('a.yaml', 'unreadable');
    assert.deepEqual(f.names(), ['a']);
  });

  it('survives the ways in which editors save', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    // vim with backup: the old file is renamed away, a new one is written, the backup removed.
    renameSync(f.file('a.yaml'), f.file('a.yaml~'));
    f.write('a.yaml', manifest('a', 'vim'));
    rmSync(f.file('a.yaml~'));
    await f.until('vim', () => f.pod('a')?.metadata.annotations?.extra === 'vim');
    execFileSync('sed', ['-i', 's/vim/sed/', f.file('a.yaml')]);
    await f.until('sed', () => f.pod('a')?.metadata.annotations?.extra === 'sed');
    const text = readFileSync(f.file('a.yaml'), 'utf8').replace('sed', 'place');
    writeFileSync(f.file('a.yaml'), text);
    await f.until('in place', () => f.pod('a')?.metadata.annotations?.extra === 'place');
    assert.ok(f.sets.every((pods) => pods.length === 1));
  });

  it('does not take a short absence for a deletion', async () => {
    f.write('a.yaml', manifest('a'));
    f.write('b.yaml', manifest('b'));
    await f.start();
    renameSync(f.file('a.yaml'), f.file('a.yaml~'));
    f.publish('b.yaml', manifest('b', 'two')); // this set is delivered while a.yaml is away
    await f.until('b changed', () => f.pod('b')?.metadata.annotations?.extra === 'two');
    f.write('a.yaml', manifest('a'));
    f.publish('c.yaml', manifest('c'));
    await f.untilNames('a', 'b', 'c');
    assert.ok(f.sets.every((pods) => pods.some(({ pod }) => pod.metadata.name === 'a')));
  });

  it('moves a pod when its file is renamed', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const { uid } = f.pod('a')?.metadata ?? {};
    renameSync(f.file('a.yaml'), f.file('b.yaml'));
    await f.until('the new file', () => f.source.current()[0]?.file === f.file('b.yaml'));
    assert.notEqual(f.pod('a')?.metadata.uid, uid);
    assert.ok(!f.logs.some(({ msg }) => msg.includes('duplicate')));
  });
});

describe('file source without its directory', () => {
  let f: Fixture;
  beforeEach(() => {
    f = new Fixture();
  });
  afterEach(() => f.end());

  it('keeps the pods when the directory is moved away, and finds it again', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const pod = f.pod('a');
    renameSync(f.dir, join(f.root, 'away'));
    await f.until('the trouble is said', () => f.source.trouble() !== undefined);
    await f.untilState('a.yaml', 'unreadable');
    assert.equal(f.pod('a'), pod);
    mkdirSync(f.dir);
    f.write('a.yaml', manifest('a'));
    await f.until('the directory is back', () => f.source.trouble() === undefined);
    assert.equal(f.pod('a'), pod);
    f.publish('b.yaml', manifest('b')); // the new directory is watched too
    await f.untilNames('a', 'b');
  });

  it('removes all pods when the directory is there and empty', async () => {
    f.write('a.yaml', manifest('a'));
    f.write('b.yaml', manifest('b'));
    await f.start();
    rmSync(f.file('a.yaml'));
    rmSync(f.file('b.yaml'));
    await f.untilNames();
    assert.equal(f.source.trouble(), undefined);
  });

  it('keeps the pods when the agent starts and the directory is not there', async () => {
    f.write('a.yaml', manifest('a'));
    await f.start();
    const { uid } = f.pod('a')?.metadata ?? {};
    await f.restart(() => renameSync(f.dir, join(f.root, 'away')));
    assert.deepEqual(f.names(), ['a']);
    assert.equal(f.pod('a')?.metadata.uid, uid);
    renameSync(join(f.root, 'away'), f.dir);
    await f.until('the directory is back', () => f.source.trouble() === undefined);
    assert.deepEqual(f.names(), ['a']);
  });

  it('finds a directory that comes later', async () => {
    rmSync(f.dir, { recursive: true });
    await f.start();
    assert.deepEqual(f.names(), []);
    mkdirSync(f.dir);
    f.write('a.yaml', manifest('a'));
    await f.untilNames('a');
  });

  it('takes an unmounted file system for trouble, not for deleted files', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('mounting needs root');
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'islet-test', f.dir]);
    } catch {
      return t.skip('mount is not allowed here');
    }
    f.write('a.yaml', manifest('a'));
    await f.start({ fileCheckFrequencyMs: 20 });
    execFileSync('umount', ['-l', f.dir]);
    await f.until('the trouble is said', () => f.source.trouble()?.includes('device') === true);
    assert.deepEqual(f.names(), ['a']);
    f.write('b.yaml', manifest('b')); // what is there now says nothing about the files that are not
    await f.until(
      'the new file was seen',
      () => f.source.trouble()?.includes('some are not') === true,
    );
    assert.deepEqual(f.names(), ['a']);
    f.write('a.yaml', manifest('a')); // with all of them there, this directory is the desired state
    await f.untilNames('a', 'b');
    return undefined;
  });

  it('watches a single file whatever its name', async () => {
    const path = join(f.root, 'only.conf');
    writeFileSync(path, manifest('a'));
    await f.start({ path });
    assert.deepEqual(f.names(), ['a']);
    writeFileSync(join(f.root, 'other'), manifest('a', 'two'));
    renameSync(join(f.root, 'other'), path);
    await f.until('the change', () => f.pod('a')?.metadata.annotations?.extra === 'two');
    rmSync(path);
    await f.untilNames();
  });
});
