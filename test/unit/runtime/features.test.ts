import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuntimeStatus } from '../../../src/cri/model.ts';
import { NO_FEATURES, RuntimeFeatures } from '../../../src/runtime/features.ts';

const all = { recursiveReadOnlyMounts: true, userNamespaces: true };
const able: RuntimeStatus = {
  conditions: [],
  handlers: new Map([['', all]]),
  supplementalGroupsPolicy: true,
};

test('the newest answer counts; the runtime is asked by whoever needs it first', async () => {
  const answers: (RuntimeStatus | Error)[] = [new Error('not yet'), able];
  let calls = 0;
  const features = new RuntimeFeatures({
    status: () => {
      calls += 1;
      const next = answers.shift() ?? { ...able, handlers: new Map() };
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
  });
  assert.equal(features.supplementalGroupsPolicy, false);
  await assert.rejects(features.handler(''), /not yet/);
  assert.deepEqual(await features.handler(''), all);
  assert.deepEqual(await features.handler('kata'), NO_FEATURES);
  assert.equal(features.supplementalGroupsPolicy, true);
  assert.equal(calls, 2);
  await features.status();
  assert.deepEqual(await features.handler(''), NO_FEATURES);
});
