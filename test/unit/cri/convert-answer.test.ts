import assert from 'node:assert/strict';
import test from 'node:test';
import { create, fromBinary } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  compareContainers,
  compareSandboxes,
  containerEventOf,
  containerOf,
  containerStatusOf,
  imageOf,
  podSandboxOf,
  sandboxStatusOf,
} from '../../../src/cri/convert-answer.ts';
import {
  ContainerEventResponseSchema,
  ContainerSchema,
  ContainerStatusSchema,
  ImageSchema,
  PodSandboxSchema,
  PodSandboxStatusSchema,
} from '../../../src/cri/gen/cri_pb.ts';
import type { PodSandboxNetworkStatusSchema } from '../../../src/cri/gen/cri_pb.ts';

/** A small number on the wire. */
const field = (number: number, value: number): Uint8Array => Uint8Array.of(number << 3, value);

test('states are those of the runtime, anything new is unknown or not ready', () => {
  const phaseOf = (state: number): string =>
    containerOf(fromBinary(ContainerSchema, field(6, state))).state;
  const phases = [0, 1, 2, 3, 7].map(phaseOf);
  assert.deepEqual(phases, ['created', 'running', 'exited', 'unknown', 'unknown']);
  const readyOf = (state: number): string =>
    podSandboxOf(fromBinary(PodSandboxSchema, field(3, state))).state;
  const ready = [0, 1, 5].map(readyOf);
  assert.deepEqual(ready, ['ready', 'notready', 'notready']);
});

type Network = MessageInitShape<typeof PodSandboxNetworkStatusSchema>;
const ADDRESSES: readonly [string, Network | undefined, string[]][] = [
  ['no network', undefined, []],
  ['host network', { ip: '' }, []],
  ['one', { ip: '10.0.0.2' }, ['10.0.0.2']],
  ['two', { ip: '10.0.0.2', additionalIps: [{ ip: 'fd00::2' }] }, ['10.0.0.2', 'fd00::2']],
  ['one that is none', { ip: '10.0.0.2', additionalIps: [{ ip: 'fd00::zz' }] }, []],
  ['a primary that is none', { ip: 'nope', additionalIps: [{ ip: 'fd00::2' }] }, []],
];
for (const [what, network, ips] of ADDRESSES)
  test(`addresses of a sandbox with ${what}`, () => {
    const status = create(PodSandboxStatusSchema, network && { network });
    assert.deepEqual(sandboxStatusOf(status).ips, ips);
  });

test('an empty status has a default for everything', () => {
  const { metadata, networkMode, state } = sandboxStatusOf(create(PodSandboxStatusSchema));
  assert.deepEqual(metadata, { name: '', namespace: '', uid: '', attempt: 0 });
  assert.deepEqual([networkMode, state], ['pod', 'ready']);
  const status = containerStatusOf(create(ContainerStatusSchema));
  assert.deepEqual([status.name, status.image, status.exitCode], ['', '', 0]);
  assert.equal(status.user, undefined);
});

test('the image id is preferred over the reference', () => {
  const idOf = (imageId: string): string =>
    containerStatusOf(create(ContainerStatusSchema, { imageRef: 'ref', imageId })).imageId;
  assert.equal(idOf('sha256:1'), 'sha256:1');
  assert.equal(idOf(''), 'ref');
});

test('times keep their nanoseconds', () => {
  const at = 1_796_043_363_613_148_204n;
  assert.equal(containerStatusOf(create(ContainerStatusSchema, { startedAt: at })).startedAt, at);
});

test('a user of the image is a number only where the image has one', () => {
  assert.equal(imageOf(create(ImageSchema, { uid: { value: 0n } })).uid, 0);
  assert.equal(imageOf(create(ImageSchema, { username: 'nobody' })).uid, undefined);
});

test('sandboxes are ordered by attempt, creation, id', () => {
  const of = (id: string, attempt: number, createdAt: bigint) =>
    podSandboxOf(create(PodSandboxSchema, { id, metadata: { attempt }, createdAt }));
  const order = [of('c', 0, 9n), of('b', 1, 1n), of('a', 1, 2n), of('d', 1, 1n)]
    .sort(compareSandboxes)
    .map(({ id }) => id);
  assert.deepEqual(order, ['a', 'b', 'd', 'c']);
});

test('containers are ordered newest first, also a nanosecond apart', () => {
  const of = (id: string, createdAt: bigint) =>
    containerOf(create(ContainerSchema, { id, createdAt }));
  const at = 1_796_043_363_613_148_204n;
  const order = [of('old', at), of('new', at + 1n)].sort(compareContainers).map(({ id }) => id);
  assert.deepEqual(order, ['new', 'old']);
});

test('an event says whose it is where the runtime does; an unknown kind is dropped', () => {
  const event = (init: MessageInitShape<typeof ContainerEventResponseSchema>) =>
    containerEventOf(create(ContainerEventResponseSchema, init));
  assert.deepEqual(
    event({
      containerId: 'c',
      containerEventType: 2,
      createdAt: 5n,
      podSandboxStatus: { metadata: { uid: 'u' } },
    }),
    { containerId: 'c', kind: 'stopped', createdAt: 5n, podUid: 'u' },
  );
  assert.equal(event({ containerEventType: 0 })?.podUid, undefined);
  const unknown = fromBinary(ContainerEventResponseSchema, field(2, 9));
  assert.equal(containerEventOf(unknown), undefined);
});
