import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

/** A folder of src imports only folders of a lower rank, or itself. Files at the top rank highest. */
const RANKS: readonly (readonly string[])[] = [
  ['util'],
  ['api', 'wasm', 'metrics'],
  ['config', 'store', 'cri', 'apiserver', 'log'],
  ['manifest', 'image', 'stats', 'volume', 'containerd'],
  ['runtime'],
  ['pleg', 'probe', 'status'],
  ['pod'],
  ['eviction', 'gc', 'cluster'],
  ['server'],
  ['cli', '.'],
];
const src = path.resolve(import.meta.dirname, '../../../src');
/** Static imports, re-exports and dynamic imports of a relative path. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g;

const TYPES = /^(?:import|export) type [^;]*;/gm;

function rankOf(folder: string): number {
  return RANKS.findIndex((folders) => folders.includes(folder));
}

function folderOf(file: string): string {
  const relative = path.relative(src, file);
  return relative.includes('/') ? (relative.split('/')[0] ?? '') : '.';
}

/** The top rank is one: the entry, the composition root and the commands that start it. */
function lower(to: string, from: string): boolean {
  const [rank, top] = [rankOf(to), RANKS.length - 1];
  return rank < rankOf(from) || (rank === top && rankOf(from) === top);
}

const files = fs
  .readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => path.join(src, name));

test('every folder of src has a rank', () => {
  assert.ok(files.length > 10);
  const unknown = new Set(files.map(folderOf).filter((folder) => rankOf(folder) < 0));
  assert.deepEqual([...unknown], []);
});

test('folders import only lower ranks or themselves', () => {
  const wrong: string[] = [];
  for (const file of files) {
    const from = folderOf(file);
    for (const [, target = ''] of fs.readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const resolved = path.resolve(path.dirname(file), target);
      const to = folderOf(resolved);
      // Constants that both compilers share.
      if (from === 'wasm' && resolved === path.resolve(src, '../assembly/layout.ts')) continue;
      const outside = path.relative(src, resolved).startsWith('..');
      if (outside || (to !== from && !lower(to, from)))
        wrong.push(`${path.relative(src, file)} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('no import cycle between files, types aside', () => {
  const edges = new Map(
    files.map((file) => [
      file,
      [...fs.readFileSync(file, 'utf8').replaceAll(TYPES, '').matchAll(IMPORT)].map(
        ([, target = '']) => path.resolve(path.dirname(file), target),
      ),
    ]),
  );
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    const at = trail.indexOf(file);
    const cycle =
      at < 0
        ? ''
        : trail
            .slice(at)
            .map((f) => path.relative(src, f))
            .join(' -> ');
    assert.equal(cycle, '', 'cycle');
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
});
