import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { runCheck } from '../../../src/cli/check.ts';

const GOOD =
  'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: x, nmae: y}]\n';
const BAD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: C}]\n';
const SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {pw: hunter2}\n';

function check(
  t: TestContext,
  output: 'text' | 'json',
  ...texts: string[]
): { status: number; out: string; err: string; dir: string } {
  const dir = mkdtempSync(join(tmpdir(), 'islet-check-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const files = texts.map((text, index) => {
    const file = join(dir, `${index}.yaml`);
    writeFileSync(file, text);
    return file;
  });
  let [out, err] = ['', ''];
  const status = runCheck(files.length > 0 ? files : [join(dir, 'none.yaml')], {
    output,
    nodeName: 'edge1',
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
  });
  return { status, out, err, dir };
}

test('an accepted file: a line to stdout, warnings to stderr, status 0', (t) => {
  const { status, out, err, dir } = check(t, 'text', GOOD);
  assert.equal(status, 0);
  assert.equal(out, `${dir}/0.yaml:1: Pod default/web-edge1 accepted\n`);
  assert.match(err, /0\.yaml:5: spec\.containers\[0\]\.nmae: warning: unknown field.*"name"\?\n$/);
});

test('a rejected file among others: each mistake on its line, status 1', (t) => {
  const { status, out, err } = check(t, 'text', GOOD, BAD);
  assert.equal(status, 1);
  assert.match(out, /0\.yaml:1: Pod/);
  assert.match(err, /1\.yaml:5: spec\.containers\[0\]\.name: Invalid value: "C"/);
  assert.match(err, /1\.yaml:5: spec\.containers\[0\]\.image: Required value/);
});

test('JSON has one object a file', (t) => {
  const { status, out } = check(t, 'json', GOOD, BAD, `a: "\n`);
  assert.equal(status, 1);
  const [good, bad, broken] = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(good?.result, 'accepted');
  assert.equal((good.pods as { metadata: { name: string } }[])[0]?.metadata.name, 'web-edge1');
  assert.equal((good.warnings as string[]).length, 1);
  assert.deepEqual([bad?.result, bad?.stage, bad?.pods], ['rejected', 'validate', []]);
  assert.deepEqual([broken?.result, broken?.stage], ['rejected', 'decode']);
});

test('a file that is not there is rejected with its name', (t) => {
  const { status, err } = check(t, 'text');
  assert.equal(status, 1);
  assert.match(err, /none\.yaml: cannot be read: ENOENT/);
});

test('the values of a Secret are not shown', (t) => {
  for (const output of ['text', 'json'] as const) {
    const { status, out, err } = check(t, output, SECRET);
    assert.equal(status, 0);
    assert.doesNotMatch(out + err, /hunter2/);
  }
  assert.match(check(t, 'json', SECRET).out, /"keys":\["pw"\]/);
});
