import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { ProjectedSourceItem, Volume } from '../../../src/api/volume.ts';
import { contentFiles } from '../../../src/volume/content.ts';
import { MIB, Objects, podWith } from './support.ts';

const allocatable = { cpuMilli: 2000, memory: 64 * MIB, ephemeralStorage: 0 };

describe('contentFiles', () => {
  let objects: Objects;
  beforeEach(() => {
    objects = new Objects();
    objects.putConfigMap('conf', { a: '1', b: '2' }, { binaryData: { bin: Buffer.of(0, 255) } });
    objects.putSecret('key', { password: 'hunter2', user: 'u' });
  });

  /** As `content:mode`, by path. */
  const filesOf = (source: Omit<Volume, 'name'>): Record<string, string> => {
    const volume = { name: 'v', ...source };
    const pod = podWith([volume]);
    pod.metadata.labels = { app: 'x' };
    const files = contentFiles({ pod, volume, objects, allocatable });
    return Object.fromEntries(
      [...files].map(([path, { content, mode }]) => [
        path,
        `${Buffer.from(content).toString('latin1')}:${mode.toString(8)}`,
      ]),
    );
  };
  const fails = (source: Omit<Volume, 'name'>, message: string, code = 'not-found'): void =>
    assert.throws(() => filesOf(source), { name: 'IsletError', code, message });
  const projected = (...sources: ProjectedSourceItem[]): { projected: Volume['projected'] } => ({
    projected: { sources, defaultMode: 0o440 },
  });

  it('makes a file of each key, or of those listed', () => {
    const bin = Buffer.of(0, 255).toString('latin1');
    assert.deepEqual(filesOf({ configMap: { name: 'conf' } }), {
      a: '1:644',
      b: '2:644',
      bin: `${bin}:644`,
    });
    const items = [
      { key: 'bin', path: 'd/e' },
      { key: 'a', path: 'a', mode: 0o400 },
    ];
    assert.deepEqual(filesOf({ configMap: { name: 'conf', items, defaultMode: 0o600 } }), {
      'd/e': `${bin}:600`,
      a: '1:400',
    });
    assert.deepEqual(filesOf({ secret: { secretName: 'key', defaultMode: 0o400 } }), {
      password: 'hunter2:400',
      user: 'u:400',
    });
  });

  it('names what is missing', () => {
    const items = [{ key: 'k', path: 'p' }];
    fails({ configMap: { name: 'x' } }, 'configmap "x" not found');
    fails({ secret: { secretName: 'x' } }, 'secret "x" not found');
    fails(
      { configMap: { name: 'conf', items } },
      'configmap references non-existent config key: k',
    );
    fails({ secret: { secretName: 'key', items } }, 'references non-existent secret key: k');
  });

  it('goes without what is optional', () => {
    const items = [
      { key: 'k', path: 'p' },
      { key: 'a', path: 'q' },
    ];
    assert.deepEqual(filesOf({ configMap: { name: 'x', optional: true } }), {});
    assert.deepEqual(filesOf({ secret: { secretName: 'x', items, optional: true } }), {});
    assert.deepEqual(filesOf({ configMap: { name: 'conf', items, optional: true } }), {
      q: '1:644',
    });
  });

  it('does not see objects of other namespaces', () => {
    const volume = { name: 'v', configMap: { name: 'conf' } };
    const pod = podWith([volume]);
    pod.metadata.namespace = 'other';
    assert.throws(() => contentFiles({ pod, volume, objects, allocatable }), { code: 'not-found' });
  });

  it('puts the sources of a projected volume together, the later one winning', () => {
    const name = { fieldRef: { fieldPath: 'metadata.name' } };
    const found = filesOf(
      projected(
        { configMap: { name: 'conf', items: [{ key: 'a', path: 'user' }] } },
        { secret: { name: 'key', items: [{ key: 'user', path: 'user', mode: 0o400 }] } },
        { downwardAPI: { items: [{ path: 'name', ...name }] } },
        { configMap: { name: 'gone', optional: true } },
      ),
    );
    assert.deepEqual(found, { user: 'u:400', name: 'p-node:440' });
    assert.deepEqual(filesOf({ projected: {} }), {});
  });

  it('names all faults of a projected volume at once', () => {
    fails(
      projected(
        { configMap: { name: 'x' } },
        { secret: { name: 'key', items: [{ key: 'k', path: 'p' }] } },
        { configMap: { name: 'x' } },
        { downwardAPI: { items: [{ path: 'f', fieldRef: { fieldPath: 'spec.nope' } }] } },
      ),
      '[configmap "x" not found, references non-existent secret key: k, unsupported fieldPath: spec.nope]',
    );
  });

  it('refuses what only an API server has', () => {
    for (const source of [
      { serviceAccountToken: { path: 't' } },
      { clusterTrustBundle: {} },
      { podCertificate: {} },
    ]) {
      const [kind] = Object.keys(source);
      const text = `${kind} in a projected volume needs an API server, which islet does without`;
      fails(projected(source), text, 'unimplemented');
    }
  });
});
