/** The source together with the real decoder: real manifests from file to desired pod. */
import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadManifest } from '../../../src/manifest/load.ts';
import { Fixture } from './source-fixture.ts';

const FIRST = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: first
    image: docker.io/library/busybox:latest
`;
const SECOND = `  - name: second
    image: docker.io/library/busybox:latest
`;

describe('file source with the real decoder', () => {
  let f: Fixture;
  beforeEach(() => {
    f = new Fixture();
  });
  afterEach(() => f.end());

  it('makes one pod of a file written in three pieces, never one with a container less', async () => {
    await f.start({ load: loadManifest });
    for (const round of [1, 2, 3]) {
      const name = `web-${round}.yaml`;
      const fd = openSync(f.file(name), 'w');
      writeSync(fd, FIRST.replace('web', `web-${round}`));
      await f.untilState(name, 'waiting');
      writeSync(fd, SECOND.slice(0, 20));
      writeSync(fd, SECOND.slice(20));
      closeSync(fd);
      await f.untilState(name, 'accepted');
    }
    const pods = f.sets.flat().map(({ pod }) => pod);
    assert.ok(pods.every(({ spec }) => spec.containers.length === 2));
    assert.deepEqual(f.names(), ['web-1-node', 'web-2-node', 'web-3-node']);
  });

  it('gives a pod its identity and keeps it over a comment, a restart and a broken edit', async () => {
    f.write('web.yaml', FIRST);
    await f.start({ load: loadManifest });
    const pod = f.pod('web-node');
    const { uid, annotations } = pod?.metadata ?? {};
    assert.equal(annotations?.['kubernetes.io/config.hash'], uid);
    assert.match(annotations?.['kubernetes.io/config.seen'] ?? '', /\.\d{9}Z$/);
    f.publish('web.yaml', `# comment\n${FIRST}`);
    await f.until('the comment is taken', () => {
      const content = f.store.lastGood.get(f.file('web.yaml'))?.content ?? [];
      return Buffer.from(content).toString().startsWith('#');
    });
    assert.equal(f.pod('web-node'), pod);
    await f.restart(() => f.write('web.yaml', FIRST.replace('name: first', 'name: [7]')), {
      load: loadManifest,
    });
    assert.deepEqual(f.pod('web-node'), pod);
    assert.equal(f.verdict('web.yaml')?.state, 'invalid');
    assert.match(
      f.verdict('web.yaml')?.messages.join() ?? '',
      /web\.yaml:\d+: spec\.containers\[0\]/,
    );
  });
});
