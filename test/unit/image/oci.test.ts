import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { localImage } from '../../../src/image/busybox.ts';
import { ociArchive } from '../../../src/image/oci.ts';
import { writeTar } from '../../../src/image/tar.ts';

const BUSYBOX = { binary: Buffer.from('#!binary'), applets: ['sh', 'busybox', 'ls', '['] };

/** What the system's tar makes of the bytes. */
function tar(archive: Buffer, ...args: string[]): string {
  return execFileSync('tar', [...args, '-f', '-'], { input: archive, encoding: 'utf8' });
}

interface Descriptor {
  digest: string;
  size: number;
}

function blob(archive: Buffer, { digest, size }: Descriptor): Buffer {
  const name = `blobs/sha256/${digest.replace('sha256:', '')}`;
  const body = execFileSync('tar', ['-xO', '-f', '-', name], { input: archive });
  assert.equal(body.length, size);
  assert.equal(`sha256:${createHash('sha256').update(body).digest('hex')}`, digest);
  return body;
}

function json<T>(bytes: Buffer | string): T {
  return JSON.parse(bytes.toString()) as T;
}

test('tar reads back what was written: kinds, modes, owners, content', () => {
  const archive = writeTar([
    { kind: 'dir', path: 'd', mode: 0o1777 },
    { kind: 'file', path: 'd/f', mode: 0o640, body: Buffer.from('x'.repeat(513)) },
    { kind: 'file', path: 'empty', mode: 0o600, body: Buffer.alloc(0) },
    { kind: 'link', path: 'l', target: '../d/f' },
  ]);
  const lines = tar(archive, '--numeric-owner', '-tv').trimEnd().split('\n');
  assert.match(lines[0] ?? '', /^drwxrwxrwt 0\/0 .* d\/$/);
  assert.match(lines[1] ?? '', /^-rw-r----- 0\/0 +513 .* d\/f$/);
  assert.match(lines[2] ?? '', /^-rw------- 0\/0 +0 .* empty$/);
  assert.match(lines[3] ?? '', /^lrwxrwxrwx .* l -> \.\.\/d\/f$/);
  assert.equal(tar(archive, '-xO').length, 513);
  assert.throws(() => writeTar([{ kind: 'dir', path: 'x'.repeat(120), mode: 0 }]));
});

test('an archive is an OCI layout whose digests and sizes are right', () => {
  const archive = ociArchive(
    localImage({ name: 'example.test/bb:1', kind: 'busybox' }, BUSYBOX),
    'x64',
  );
  assert.deepEqual(json(tar(archive, '-xO', 'oci-layout')), { imageLayoutVersion: '1.0.0' });
  const index = json<{ manifests: (Descriptor & { annotations: object })[] }>(
    tar(archive, '-xO', 'index.json'),
  );
  const [entry] = index.manifests;
  assert.ok(entry);
  assert.deepEqual(entry.annotations, { 'io.containerd.image.name': 'example.test/bb:1' });
  const manifest = json<{ config: Descriptor; layers: Descriptor[] }>(blob(archive, entry));
  const config = json<{ architecture: string; rootfs: { diff_ids: string[] }; config: object }>(
    blob(archive, manifest.config),
  );
  assert.equal(config.architecture, 'amd64');
  assert.deepEqual(
    config.rootfs.diff_ids,
    manifest.layers.map((layer) => layer.digest),
  );
  const [layer] = manifest.layers;
  assert.ok(layer);
  const names = tar(blob(archive, layer), '-tv');
  for (const entryLine of ['bin/busybox', 'bin/sh -> busybox', 'bin/[ -> busybox', 'etc/passwd'])
    assert.ok(names.includes(entryLine), entryLine);
  assert.match(names, /drwxrwxrwt .* tmp\/\n/);
});

test('the same image gives the same bytes, another name another archive', () => {
  const make = (name: string): Buffer => ociArchive(localImage({ name, kind: 'pause' }, BUSYBOX));
  assert.ok(make('a').equals(make('a')));
  assert.ok(!make('a').equals(make('b')));
});
