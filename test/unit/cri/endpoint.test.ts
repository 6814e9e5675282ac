import assert from 'node:assert/strict';
import test from 'node:test';
import { socketPathOf } from '../../../src/cri/endpoint.ts';
import { codeOf } from '../../../src/util/errors.ts';

const SOCKET = '/run/containerd/containerd.sock';

for (const endpoint of [`unix://${SOCKET}`, `unix:${SOCKET}`, SOCKET])
  test(`${endpoint} is a socket`, () => assert.equal(socketPathOf(endpoint), SOCKET));

for (const endpoint of [
  '',
  'unix://',
  'unix://run/x.sock',
  'unix:x.sock',
  'tcp://127.0.0.1:1',
  'npipe:////./pipe/x',
  'run/x.sock',
  '//run/x.sock',
])
  test(`"${endpoint}" is refused`, () =>
    assert.throws(
      () => socketPathOf(endpoint),
      (error) => codeOf(error) === 'invalid',
    ));
