import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuntimeClass } from '../../../src/config/model.ts';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import { runtimeHandler, withOverhead } from '../../../src/runtime/runtime-class.ts';
import { podOf } from '../../support/pods.ts';

const overhead = { podFixed: { memory: '160Mi', cpu: '250m' } };
const classes: RuntimeClass[] = [
  { name: 'plain', handler: 'runc' },
  { name: 'kata', handler: 'kata-qemu', overhead },
];

test('a class stands for its handler, no class for the default one', () => {
  assert.equal(runtimeHandler(podOf({ runtimeClassName: 'kata' }), classes), 'kata-qemu');
  assert.equal(runtimeHandler(podOf(), classes), '');
  assert.equal(runtimeHandler(podOf({ runtimeClassName: '' }), classes), '');
});

test('an unknown class is named, and what there is', () => {
  const refuses = (given: readonly RuntimeClass[], text: string) =>
    assert.throws(
      () => runtimeHandler(podOf({ runtimeClassName: 'gvisor' }), given),
      (error) => error instanceof ConfigError && error.message === text,
    );
  const start = 'RuntimeClass "gvisor" not found: runtimeClasses of the IsletConfiguration has';
  refuses(classes, `${start} plain, kata`);
  refuses([], `${start} none`);
});

test('a pod costs what its class costs, unless it says so itself', () => {
  const kata = podOf({ runtimeClassName: 'kata' });
  assert.deepEqual(withOverhead(kata, classes).spec.overhead, overhead.podFixed);
  assert.equal(kata.spec.overhead, undefined);
  const own = podOf({ runtimeClassName: 'kata', overhead: { cpu: '1' } });
  assert.equal(withOverhead(own, classes), own);
  for (const runtimeClassName of ['plain', 'unknown']) {
    const pod = podOf({ runtimeClassName });
    assert.equal(withOverhead(pod, classes), pod);
  }
});
