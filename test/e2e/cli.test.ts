/**
 * The commands as a person types them: what they print, where, and how they fail.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { parse } from 'yaml';
import type { Pod } from '../../src/api/pod.ts';
import { NODE_NAME, finished, islet, makeAgent, spawnIslet, until } from '../support/agent.ts';
import type { CliResult, TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { logOf } from './look.ts';
import { LOOP, manifest, podThat, running, shell, statusOf } from './manifest.ts';

/** Its first life ends with 3, the second goes on. */
const TWO_LIVES = `if [ -e /m/lived ]; then echo second life; ${LOOP}; fi
touch /m/lived; echo first life; exit 3`;
const BROKEN = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: broken\nspec:\n  containers: 5\n';

let containerd: TestContainerd;
let agent: TestAgent;
const results: CliResult[] = [];

/** A command whose output must never hold a stack trace. */
async function cli(...args: string[]): Promise<CliResult> {
  const result = await agent.cli(...args);
  results.push(result);
  return result;
}

/** The one line that a command which fails has to say. */
async function failure(...args: string[]): Promise<string> {
  return oneLine(await cli(...args));
}

function oneLine({ code, stdout, stderr }: CliResult): string {
  assert.equal(code, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, /^[^\n]+\n$/);
  return stderr.trimEnd();
}

/** Rows of a table, split where kubectl's columns are: at three blanks or more. */
function rows(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd().split(/ {3,}/));
}

before(async () => {
  containerd = await startContainerd();
  agent = await makeAgent({ socket: containerd.socket });
  agent.apply('web.yaml', manifest('web', shell(`echo hello; echo again; ${LOOP}`)));
  agent.apply(
    'two.yaml',
    manifest(
      'two',
      ['a', 'b'].map((name) => shell(LOOP, { name })),
    ),
  );
  const volumeMounts = [{ name: 'm', mountPath: '/m' }];
  const volumes = [{ name: 'm', emptyDir: {} }];
  agent.apply('lives.yaml', manifest('lives', shell(TWO_LIVES, { volumeMounts }), { volumes }));
  agent.apply('broken.yaml', BROKEN);
  agent.apply('notes.txt', 'not a manifest');
  await agent.start();
  for (const name of ['web', 'two']) await running(agent, name);
  await podThat(agent, 'lives', 'lives again', (pod) => {
    const { restartCount, ready } = statusOf(pod);
    return restartCount === 1 && ready;
  });
  for (const [name, last] of [
    ['web', 'again\n'],
    ['lives', 'second life\n'],
  ] as const)
    await until(`${name} has spoken`, async () => (await logOf(agent, name)).endsWith(last));
  agent.apply('web-again.yaml', manifest('web', shell('echo impostor')));
  await until('the duplicate is seen', async () => agent.file('web-again.yaml'));
});

after(async () => {
  await agent?.dispose();
  await containerd?.stop();
});

test('get pods shows kubectl’s columns, and which files do not run', async () => {
  const { code, stdout, stderr } = await cli('get', 'pods');
  assert.equal(code, 0);
  const [header, ...pods] = rows(stdout);
  assert.deepEqual(header, ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
  assert.deepEqual(
    pods.map(([name, ready, status]) => [name, ready, status]),
    [
      [`lives-${NODE_NAME}`, '1/1', 'Running'],
      [`two-${NODE_NAME}`, '2/2', 'Running'],
      [`web-${NODE_NAME}`, '1/1', 'Running'],
    ],
  );
  assert.match(pods[0]?.[3] ?? '', /^1 \(\d+m?\d*s ago\)$/);
  assert.equal(pods[2]?.[3], '0');
  assert.ok(pods.every(([, , , , age]) => /^\d+m?\d*s$/.test(age ?? '')));
  const [broken, duplicate, ...rest] = stderr.trimEnd().split('\n');
  assert.match(broken ?? '', /broken\.yaml is invalid: .*broken\.yaml:6: spec\.containers: /);
  assert.match(duplicate ?? '', /web-again\.yaml is duplicate: .* provided by .*\/web\.yaml /);
  assert.deepEqual(rest, []);
});

test('get pods -o wide adds address and node; a name narrows it, with or without suffix', async () => {
  const wide = await cli('get', 'pods', 'web', '-o', 'wide');
  const [header, web, ...others] = rows(wide.stdout);
  assert.deepEqual(header?.slice(5), ['IP', 'NODE', 'NOMINATED NODE', 'READINESS GATES']);
  assert.equal(web?.[0], `web-${NODE_NAME}`);
  assert.equal(web?.[5], (await agent.pod('web'))?.status.podIP);
  assert.equal(web?.[6], NODE_NAME);
  assert.deepEqual(others, []);
  const named = await cli('get', `pod/web-${NODE_NAME}`, '-o', 'name');
  assert.equal(named.stdout, `pod/web-${NODE_NAME}\n`);
});

test('get pods -o json and -o yaml say the same: whole objects', async () => {
  const json = JSON.parse((await cli('get', 'pods', '-o', 'json')).stdout) as { items: Pod[] };
  const yaml = parse((await cli('get', 'pods', '-o', 'yaml')).stdout) as { items: Pod[] };
  assert.deepEqual(yaml, json);
  assert.equal(json.items.length, 3);
  const one = JSON.parse((await cli('get', 'pods', 'web', '-o', 'json')).stdout) as Pod;
  assert.deepEqual(one, await agent.pod('web'));
});

test('get files tells what became of every file, and why', async () => {
  const { stdout, code } = await cli('get', 'files');
  assert.equal(code, 0);
  const [header, ...files] = rows(stdout);
  assert.deepEqual(header, ['FILE', 'STATE', 'PODS', 'MESSAGE']);
  const of = (file: string): string[] =>
    files.find(([name]) => name === path.join(agent.manifests, file)) ?? [];
  assert.deepEqual(of('web.yaml').slice(1), ['accepted', `default/web-${NODE_NAME}`]);
  assert.deepEqual(of('broken.yaml').slice(1, 3), ['invalid', '<none>']);
  assert.match(of('broken.yaml')[3] ?? '', /broken\.yaml:6: spec\.containers: /);
  assert.deepEqual(of('notes.txt').slice(1, 3), ['ignored', '<none>']);
  assert.match(of('notes.txt')[3] ?? '', /extension \.txt: manifests end in \.yaml/);
  assert.deepEqual(of('web-again.yaml').slice(1, 3), ['duplicate', '<none>']);
  const both = new RegExp(`web-again\\.yaml: .* ${path.join(agent.manifests, 'web.yaml')} `);
  assert.match(of('web-again.yaml')[3] ?? '', both);
});

test('describe pod has the state, the manifest and the events of a pod', async () => {
  const { stdout, code } = await cli('describe', 'pod', 'lives');
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`^Name: +lives-${NODE_NAME}$`, 'm'));
  assert.match(stdout, /^Manifest: .*lives\.yaml \(accepted\)$/m);
  assert.match(stdout, /Last State: +Terminated\n +Reason: +Error\n(.*\n)? +Exit Code: +3\n/);
  assert.match(stdout, /Restart Count: +1\n/);
  const events = stdout.slice(stdout.indexOf('\nEvents:\n'));
  for (const reason of ['Pulled', 'Created', 'Started'])
    assert.match(events, new RegExp(`^ {2}Normal +${reason} +\\S.*islet`, 'm'));
});

test('logs, logs --previous and --tail', async () => {
  assert.equal((await cli('logs', 'web')).stdout, 'hello\nagain\n');
  assert.equal((await cli('logs', 'web', '--tail', '1')).stdout, 'again\n');
  assert.match((await cli('logs', 'web', '--timestamps')).stdout, /^\d{4}-\d\d-\d\dT\S+Z hello\n/);
  assert.equal((await cli('logs', 'lives')).stdout, 'second life\n');
  assert.equal((await cli('logs', 'lives', '--previous')).stdout, 'first life\n');
  assert.match(await failure('logs', 'web', '--previous'), /previous terminated container "main"/);
});

test('logs -f goes on until the pod has ended, last words included', async () => {
  const talk = `echo first; trap 'echo last; exit 0' TERM; while :; do sleep 1 & wait $!; done`;
  agent.apply('talk.yaml', manifest('talk', shell(talk)));
  await running(agent, 'talk');
  const follower = spawnIslet(['logs', '-f', 'talk', '--root-dir', agent.root]);
  const end = finished(follower);
  await new Promise((resolve) => follower.stdout?.once('data', resolve));
  agent.remove('talk.yaml');
  const { code, stdout, stderr } = await end;
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'first\nlast\n', stderr: '' });
});

test('events are listed, also of a pod that is gone', async () => {
  const { stdout, code } = await cli('events');
  assert.equal(code, 0);
  const [header, ...all] = rows(stdout);
  assert.deepEqual(header, ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE']);
  assert.ok(all.some(([, , reason, object]) => reason === 'Started' && object?.includes('web-')));
  const gone = await cli('events', '--for', 'talk');
  const [, ...ofTalk] = rows(gone.stdout);
  assert.ok(ofTalk.some(([, , reason]) => reason === 'Killing'));
  assert.ok(ofTalk.every(([, , , object]) => object === `Pod/talk-${NODE_NAME}`));
});

test('version names program, agent and runtime', async () => {
  const { version } = JSON.parse(
    fs.readFileSync(path.resolve(import.meta.dirname, '../../../package.json'), 'utf8'),
  ) as { version: string };
  const { stdout, code } = await cli('version');
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`^islet ${version} \\(Node\\.js v`));
  assert.match(stdout, new RegExp(`^agent ${version} .* node ${NODE_NAME}, .*containerd`, 'm'));
});

test('a command that cannot be done says why in one line', async () => {
  assert.match(await failure('get', 'pods', 'nobody'), /pods "nobody" not found/);
  assert.match(await failure('describe', 'pod', 'nobody'), /pods "nobody" not found/);
  assert.match(await failure('logs', 'two'), /choose one of: \[a b\]/);
  assert.match(await failure('logs', 'two', '-c', 'c'), /"c" is not in pod .*\[a b\]/);
  assert.match(await failure('get', 'pods', '-o', 'xml'), /"xml": allowed are wide, json/);
  assert.match(
    await failure('get', 'services'),
    /no resource "services"; there are pods, files and node/,
  );
});

test('without an agent every command says how to start one', async () => {
  const nowhere = fs.mkdtempSync(path.join(agent.dir, 'nobody-'));
  for (const command of [['get', 'pods'], ['describe', 'pod', 'x'], ['logs', 'x'], ['events']]) {
    const line = oneLine(await islet(...command, '--root-dir', nowhere));
    assert.match(line, /^islet is not running: nothing answers on .*islet\.sock; .*islet run/);
  }
});

test('check judges files without an agent: file, line and field', async () => {
  const good = path.join(agent.manifests, 'web.yaml');
  const bad = path.join(agent.manifests, 'broken.yaml');
  const accepted = await islet('check', good);
  assert.deepEqual([accepted.code, accepted.stderr], [0, '']);
  assert.match(accepted.stdout, /web\.yaml:1: Pod default\/web-\S+ accepted\n$/);
  const rejected = await islet('check', good, bad);
  assert.equal(rejected.code, 1);
  assert.match(rejected.stderr, /^\S+broken\.yaml:6: spec\.containers: [^\n]+\n$/);
});

test('a wrong configuration: one line for each fault, with file, line and field', async () => {
  const file = path.join(agent.dir, 'wrong.yaml');
  const lines = [
    'apiVersion: kubelet.config.k8s.io/v1beta1',
    'kind: KubeletConfiguration',
    'staticPodPth: /nowhere',
    'readOnlyPort: many',
    'syncFrequency: soon',
  ];
  fs.writeFileSync(file, `${lines.join('\n')}\n`);
  const { code, stdout, stderr } = await islet('run', '--config', file, '--root-dir', agent.dir);
  assert.deepEqual([code, stdout], [1, '']);
  const said = stderr.trimEnd().split('\n').toSorted();
  assert.equal(said.length, 3, stderr);
  assert.match(said[0] ?? '', /wrong\.yaml:3: staticPodPth: .*staticPodPath/);
  assert.match(said[1] ?? '', /wrong\.yaml:4: readOnlyPort: found "many", expected /);
  assert.match(said[2] ?? '', /wrong\.yaml:5: syncFrequency: found "soon", expected /);
});

test('no command printed a stack trace, nor did the agent', () => {
  for (const { stdout, stderr } of results) assert.doesNotMatch(stdout + stderr, /^ {4}at /m);
  assert.doesNotMatch(agent.log(), /\bat .*\.js:\d+:\d+/);
});
