import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';

const repository = path.resolve(import.meta.dirname, '../../../..');
const proto = path.join(repository, 'src/cri/proto/cri.proto');
const checker = path.join(repository, '../shared/cri/check.mjs');

test('names, numbers and types are those of CRI v1', (t) => {
  if (!fs.existsSync(checker)) return t.skip('../shared is not there');
  const said = execFileSync(process.execPath, [checker, proto], { encoding: 'utf8' });
  assert.match(said, /in 170 of 170 messages: 0 differences/);
});

test('the generated code is what cri.proto generates', (t) => {
  const bin = path.join(repository, 'node_modules/.bin');
  const out = fs.mkdtempSync(path.join(os.tmpdir(), 'cri-gen-'));
  t.after(() => fs.rmSync(out, { recursive: true, force: true }));
  const directory = path.dirname(proto);
  const template = path.join(directory, 'buf.gen.yaml');
  execFileSync(path.join(bin, 'buf'), ['generate', directory, '--template', template], {
    cwd: out,
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    stdio: 'pipe',
  });
  const generated = fs.readFileSync(path.join(out, 'src/cri/gen/cri_pb.ts'), 'utf8');
  const committed = fs.readFileSync(path.join(repository, 'src/cri/gen/cri_pb.ts'), 'utf8');
  assert.equal(generated === committed, true, 'run `npm run generate`');
});
