import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { protectSelf, tuneKernel } from '../../../src/runtime/kernel-tunables.ts';
import { IsletError } from '../../../src/util/errors.ts';

const proc = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-proc-'));
after(() => fs.rmSync(proc, { recursive: true }));
const file = (name: string) => path.join(proc, 'sys', ...name.split('.'));
function set(name: string, value: string): void {
  fs.mkdirSync(path.dirname(file(name)), { recursive: true });
  fs.writeFileSync(file(name), `${value}\n`);
}
const read = (name: string): string => fs.readFileSync(file(name), 'utf8').trim();

test('what is set otherwise is set, unless it is protected; what is not there is no fault', () => {
  set('vm.overcommit_memory', '0');
  set('vm.panic_on_oom', '0');
  set('kernel.panic', '1');
  assert.throws(
    () => tuneKernel({ protect: true, proc }),
    (error) =>
      error instanceof IsletError &&
      error.code === 'invalid' &&
      error.message.endsWith(
        'vm.overcommit_memory is 0, expected 1; kernel.panic is 1, expected 10',
      ),
  );
  assert.equal(read('kernel.panic'), '1');
  assert.deepEqual(tuneKernel({ protect: false, proc }), []);
  assert.deepEqual([read('vm.overcommit_memory'), read('kernel.panic')], ['1', '10']);
  assert.deepEqual(tuneKernel({ protect: true, proc }), [], 'nothing to set');
});

test('what the kernel refuses is named', () => {
  // A directory in place of the file's own cannot be written, whoever writes.
  const fake = path.join(proc, 'fake');
  fs.mkdirSync(path.join(fake, 'sys/kernel'), { recursive: true });
  fs.symlinkSync('/proc/version', path.join(fake, 'sys/kernel/panic'));
  assert.deepEqual(tuneKernel({ protect: false, proc: fake }), ['kernel.panic']);
});

test('the agent takes its place among those that are killed when memory has run out', () => {
  const script = `
    import fs from 'node:fs';
    import { protectSelf } from ${JSON.stringify(new URL('../../../src/runtime/kernel-tunables.js', import.meta.url).href)};
    const own = '/proc/self/oom_score_adj';
    const kept = protectSelf(Number(fs.readFileSync(own, 'utf8')));
    console.log(kept, protectSelf(500), fs.readFileSync(own, 'utf8').trim());`;
  const args = ['--input-type=module', '-e', script];
  const out = execFileSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(out.trim(), 'true true 500');
  assert.equal(protectSelf(1, path.join(proc, 'none', 'here')), false);
});
