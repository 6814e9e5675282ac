import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseManifest } from '../../../src/manifest/parse.ts';
import { offsetOf, pathSteps } from '../../../src/manifest/tree.ts';
import type { Tree } from '../../../src/manifest/tree.ts';

function plain(tree: Tree): unknown {
  switch (tree.type) {
    case 'object':
      return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, plain(value)]));
    case 'list':
      return tree.items.map(plain);
    case 'number':
      return Number(tree.text);
    case 'bool':
      return tree.text === 'true';
    case 'null':
      return null;
    case 'string':
      return tree.text;
  }
}

function parse(text: string | Uint8Array): unknown[] {
  const { trees, problems } = parseManifest(typeof text === 'string' ? Buffer.from(text) : text);
  assert.deepEqual(problems, []);
  return trees.map(plain);
}

function problem(text: string | Uint8Array): string {
  const { trees, problems } = parseManifest(typeof text === 'string' ? Buffer.from(text) : text);
  assert.deepEqual(trees, []);
  const [first] = problems;
  assert.ok(first, 'a problem was expected');
  return `${first.line}:${first.column} ${first.message}`;
}

test('encodings and line ends that editors leave behind', () => {
  assert.deepEqual(parse('\ufeffa: 1\n'), [{ a: 1 }]);
  assert.deepEqual(parse('a: 1\r\nb: |\r\n  x\r\n'), [{ a: 1, b: 'x\n' }]);
  assert.deepEqual(parse('a: 1\rb: 2\r'), [{ a: 1, b: 2 }]);
  const utf16 = Buffer.from('\ufeffa: ü\n', 'utf16le');
  assert.deepEqual(parse(utf16), [{ a: 'ü' }]);
  assert.deepEqual(parse(Buffer.from(utf16).swap16()), [{ a: 'ü' }]);
  assert.match(problem(Buffer.from('a: 1\nb: \xfc\n', 'latin1')), /^2:4 .*UTF-8/);
  assert.match(problem('a: 1\nb: \0\n'), /^2:4 .*U\+0000/);
  assert.match(problem(new Uint8Array(10 * 2 ** 20 + 1)), /^1:1 .*10 MiB/);
});

test('a file that starts with a brace is strict JSON', () => {
  assert.deepEqual(parse('\n {"a":\t[1, "\\u00e9", true, null]}\n'), [{ a: [1, 'é', true, null] }]);
  assert.deepEqual(parse('{"a": "\\ud83d\\ude00 \\ud83d"}'), [{ a: '😀 \ufffd' }]);
  assert.match(problem('{"a": 1,}'), /^1:9 .*key in double quotes/);
  assert.match(problem('{a: 1}'), /^1:2 .*key in double quotes/);
  assert.match(problem('{"a": 1}\n{"b": 2}'), /^2:1 .*end of the file/);
  assert.match(problem('{"a": "x\ny"}'), /^1:7 .*string/);
  assert.match(problem('{"a": ["k": 1]}'), /^1:11 .*found ":"/);
  assert.match(problem('{"a": 01}'), /^1:8 /);
  assert.deepEqual(parse('---\n{a: 1, b: [x,],}\n'), [{ a: 1, b: ['x'] }]);
  assert.deepEqual(parse('# not JSON\n{a: 1}\n'), [{ a: 1 }]);
});

test('several documents, empty ones left out', () => {
  assert.deepEqual(parse('---\n---\na: 1\n---\n# nothing\n---\n~\n---\nb: 2\n...\n'), [
    { a: 1 },
    { b: 2 },
  ]);
  assert.deepEqual(parse('# nothing\n'), []);
  assert.match(problem('a: 1\n---\n\t{{{ : x\n'), /^[34]:/);
});

test('anchors, merges and repeated keys', () => {
  assert.deepEqual(parse('a: &x {k: 1}\nb: *x\n'), [{ a: { k: 1 }, b: { k: 1 } }]);
  const base = 'base: &b {p: 1, q: 1}\n';
  const merged = (text: string): unknown => (parse(base + text)[0] as { m: unknown }).m;
  assert.deepEqual(merged('m: {<<: *b, q: 2}'), { p: 1, q: 2 });
  assert.deepEqual(
    merged('m: {q: 2, <<: *b}'),
    { p: 1, q: 1 },
    'a merge after the key overrides it',
  );
  assert.deepEqual(merged('m: {<<: [{p: 5}, *b]}'), { p: 5, q: 1 }, 'the first of a list wins');
  assert.deepEqual(merged('m: {"<<": 3}'), { '<<': 3 });
  assert.deepEqual(parse('a: 1\na: 2\n'), [{ a: 2 }]);
  assert.deepEqual(parse('on: 1\nyes: 2\n'), [{ true: 2 }]);
  assert.deepEqual(parse('{"a": {"x": 1}, "a": {"y": 2}}'), [{ a: { x: 1, y: 2 } }]);
  assert.match(problem('a: *nobody'), /^1:4 unknown anchor/);
  assert.match(problem('a: &a [*a]'), /^1:8 .*contains itself/);
  assert.match(problem('<<: 3'), /^1:1 a merge/);
  assert.match(problem('? [a]\n: b'), /^1:3 a key has to be a string/);
});

test('tags, escapes and directives', () => {
  assert.deepEqual(parse('a: !mine 5\nb: !!str 5\nc: !!int "5"\nd: !!binary aGk=\n'), [
    { a: '5', b: '5', c: 5, d: 'hi' },
  ]);
  assert.deepEqual(parse('a: "it\\\'s"\nb: "\\x41\\\\\'"\n'), [{ a: "it's", b: "A\\'" }]);
  assert.match(problem('a: !!int x'), /^1:\d+ .*!!int/);
  assert.match(problem('a: "\\ud83d"'), /Unicode/);
  assert.match(problem('a: .inf'), /^1:4 \.inf is not supported/);
  assert.match(problem('%YAML 1.2\n---\na: 1\n'), /%YAML 1.2 is not supported/);
  assert.deepEqual(parse('%YAML 1.1\n---\na: yes\n'), [{ a: true }]);
});

test('lines of a flow collection may be indented less than its key', () => {
  const flow = 'a:\n  b: [\n  "x",\n# note\ny1,\n {k: "it\\\'s"}\n]\n  c: 1\n';
  assert.deepEqual(parse(flow), [{ a: { b: ['x', 'y1', { k: "it's" }], c: 1 } }]);
  const { trees, lines } = parseManifest(Buffer.from(flow));
  assert.equal(trees[0] && lines.position(offsetOf(trees[0], 'a.c')).line, 8);
  assert.match(
    problem('a:\n  b: [\n  x,\n  c: 1\n'),
    /^[345]:/,
    'one that never ends is still wrong',
  );
});

test('what YAML is not', () => {
  assert.match(problem('a: 1\n b: 2\n'), /^1:4 not valid YAML/);
  assert.match(problem('a:\n\tb: 1\n'), /^2:1 .*Tabs/);
  assert.match(problem('a: @x'), /^1:4 /);
  assert.match(problem('x:\n- a\n-b\n'), /^3:1 /);
  assert.deepEqual(parse('a:\tb\t# comment\n'), [{ a: 'b' }]);
});

test('deep nesting, bombs and sheer size end early', () => {
  for (const text of ['- '.repeat(50_000), `a: ${'['.repeat(50_000)}`, '{"a":'.repeat(50_000)]) {
    assert.match(problem(text), /nested deeper than/);
  }
  const levels = Array.from(
    { length: 20 },
    (_, i) => `k${i + 1}: &k${i + 1} [${`*k${i},`.repeat(10)}]`,
  );
  assert.match(problem(`k0: &k0 [x]\n${levels.join('\n')}\n`), /excessive aliasing/);
  const long = `a: &a ${'x'.repeat(2 ** 20)}\nb: [${'*a,'.repeat(50)}]\n`;
  assert.match(problem(long), /excessive aliasing/);
  assert.match(problem('- a\n'.repeat(200_000)), /too large for a manifest/);
});

test('JSON and the same tree in YAML flow style read alike', () => {
  const key = fc.stringMatching(/^[a-z]{1,6}$/).filter((name) => name !== 'y' && name !== 'n');
  const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.string());
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, tree, { minKeys: 1, maxKeys: 4 }), (value) => {
      const json = JSON.stringify(value);
      assert.deepEqual(parse(json), [JSON.parse(json)]);
      const escaped = json.replace(
        /[\x7f-\uffff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      assert.deepEqual(parse(`---\n${escaped}`), [JSON.parse(json)]);
    }),
    { numRuns: 200 },
  );
});

test('a field path leads to its place in the file', () => {
  assert.deepEqual(pathSteps('spec.c[0].limits[example.com/x]'), [
    'spec',
    'c',
    0,
    'limits',
    'example.com/x',
  ]);
  const text = 'spec:\n  c:\n  - limits:\n      example.com/x: 1\n';
  const { trees, lines } = parseManifest(Buffer.from(text));
  const [tree] = trees;
  assert.ok(tree);
  const line = (path: string): number => lines.position(offsetOf(tree, path)).line;
  assert.equal(line('spec.c[0].limits[example.com/x]'), 4);
  assert.equal(line('spec.c[0].limits[other]'), 3, 'the nearest that is there');
  assert.equal(line('spec.c[7].name'), 2);
});
