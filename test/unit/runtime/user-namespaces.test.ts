import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { subordinateIds } from '../../../src/runtime/subids.ts';
import type { GetSubIds } from '../../../src/runtime/subids.ts';
import { UserNamespaces } from '../../../src/runtime/user-namespaces.ts';
import type { IdRange } from '../../../src/runtime/user-namespaces.ts';
import { codeOf } from '../../../src/util/errors.ts';

const SLOT = 65_536;

class Node {
  readonly rootDir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-userns-'));

  constructor(t: TestContext) {
    t.after(() => fs.rmSync(this.rootDir, { recursive: true }));
  }

  pod(uid: string): string {
    const dir = path.join(this.rootDir, 'pods', uid);
    fs.mkdirSync(dir, { recursive: true });
    return dir;
  }

  /** As a new agent has it. */
  agent(range?: IdRange, idsPerPod = SLOT): UserNamespaces {
    const configuredRange = () => Promise.resolve(range);
    return new UserNamespaces({ rootDir: this.rootDir, idsPerPod, configuredRange });
  }
}

const slot = (n: number) => [{ hostId: (n + 1) * SLOT, containerId: 0, length: SLOT }];

test('each pod has the first free range and keeps it over a restart of the agent', async (t) => {
  const node = new Node(t);
  const uids = ['a', 'b', 'c'];
  for (const uid of uids) node.pod(uid);
  const first = node.agent();
  const found = await Promise.all(uids.map((uid) => first.mapping(uid)));
  assert.deepEqual(found, [slot(0), slot(1), slot(2)]);
  assert.deepEqual(JSON.parse(fs.readFileSync(path.join(node.pod('b'), 'userns'), 'utf8')), {
    uidMappings: slot(1),
    gidMappings: slot(1),
  });
  const second = node.agent();
  assert.deepEqual(await second.mapping('c'), slot(2));
  fs.rmSync(node.pod('b'), { recursive: true });
  node.pod('d');
  node.pod('e');
  assert.deepEqual(await second.mapping('d'), slot(1));
  assert.deepEqual(await second.mapping('e'), slot(3));
});

test('a range of the kubelet of another size is not given away in parts', async (t) => {
  const node = new Node(t);
  const mapping = { hostId: SLOT, containerId: 0, length: 2 * SLOT };
  fs.writeFileSync(
    path.join(node.pod('old'), 'userns'),
    JSON.stringify({ uidMappings: [mapping], gidMappings: [mapping] }),
  );
  node.pod('new');
  assert.deepEqual(await node.agent().mapping('new'), slot(2));
  assert.deepEqual(await node.agent().mapping('old'), [mapping]);
});

test('the range that was set aside is used, to its last slot', async (t) => {
  const node = new Node(t);
  for (const uid of ['a', 'b', 'c']) node.pod(uid);
  const agent = node.agent({ start: 4 * SLOT, length: 2 * SLOT + 5 });
  assert.deepEqual(await agent.mapping('a'), slot(3));
  assert.deepEqual(await agent.mapping('b'), slot(4));
  await assert.rejects(agent.mapping('c'), (error) => {
    assert.equal(codeOf(error), 'failed');
    assert.equal(
      (error as Error).message,
      'could not find an empty slot to allocate a user namespace: this node has 2 of 65536 ids ' +
        'from 262144 on, and pods have them all',
    );
    return true;
  });
  fs.rmSync(node.pod('a'), { recursive: true });
  assert.deepEqual(await agent.mapping('c'), slot(3));
});

test('a range that holds ids of the host, or half slots, is refused', async (t) => {
  const node = new Node(t);
  node.pod('a');
  for (const range of [
    { start: 1000, length: 10 * SLOT },
    { start: SLOT + 1, length: 10 * SLOT },
    { start: SLOT, length: SLOT - 1 },
  ]) {
    await assert.rejects(node.agent(range).mapping('a'), (error) => codeOf(error) === 'invalid');
  }
});

test('while a file cannot be understood no range is given away, and it is named', async (t) => {
  const node = new Node(t);
  const file = path.join(node.pod('bad'), 'userns');
  node.pod('a');
  const [uidMapping] = slot(0);
  const bad = [
    '',
    '{',
    '[]',
    '{"uidMappings":[]}',
    JSON.stringify({ uidMappings: slot(0), gidMappings: slot(1) }),
    JSON.stringify({ uidMappings: [{ ...uidMapping, hostId: 0 }], gidMappings: slot(0) }),
  ];
  for (const text of bad) {
    fs.writeFileSync(file, text);
    for (const uid of ['bad', 'a']) {
      await assert.rejects(
        node.agent().mapping(uid),
        (error) => codeOf(error) === 'corrupt' && (error as Error).message.startsWith(`${file} `),
      );
    }
  }
});

test('subordinate ids count where there is a user kubelet and getsubids', async (t) => {
  const { rootDir } = new Node(t);
  const passwd = path.join(rootDir, 'passwd');
  const says =
    (users: string, groups = users): GetSubIds =>
    (args) =>
      Promise.resolve(args[0] === '-g' ? groups : users);
  const range = '0: kubelet 65536 7208960\n';
  fs.writeFileSync(passwd, 'root:x:0:0:root:/root:/bin/bash\nkubelet2:x:1:1::/:/bin/sh\n');
  assert.equal(await subordinateIds(passwd, says(range)), undefined);
  fs.appendFileSync(passwd, 'kubelet:x:999:999::/:/usr/sbin/nologin\n');
  assert.deepEqual(await subordinateIds(passwd, says(range)), { start: 65_536, length: 7_208_960 });
  const absent: GetSubIds = () =>
    Promise.reject(Object.assign(new Error('no'), { code: 'ENOENT' }));
  assert.equal(await subordinateIds(passwd, absent), undefined);
  const invalid = (error: unknown) => codeOf(error) === 'invalid';
  await assert.rejects(subordinateIds(passwd, says(range, '0: kubelet 131072 65536\n')), invalid);
  await assert.rejects(subordinateIds(passwd, says(range + '1: kubelet 1 2\n')), invalid);
  const broken: GetSubIds = () => Promise.reject(new Error('boom'));
  await assert.rejects(subordinateIds(passwd, broken), (error) => codeOf(error) === 'failed');
});
