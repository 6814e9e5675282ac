/**
 * The values of Secrets are where pods asked for them and nowhere else, whatever goes wrong: not in the
 * log, the database, the answers of the socket, the outputs of commands or what the runtime is told
 * beside the variables.
 */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { runCheck } from '../../src/cli/check.ts';
import { describePod } from '../../src/cli/describe.ts';
import { events } from '../../src/cli/events.ts';
import { getFiles, getPods } from '../../src/cli/get.ts';
import type { CliIo } from '../../src/cli/io.ts';
import { Bench } from '../support/bench.ts';
import { testIo } from '../unit/cli/support.ts';

const VALUES = [
  'correct-horse-battery',
  'tr0ub4dor&3',
  'zero\u0000byte-value',
  'broken-edit-value',
];
const [PASSWORD = '', TOKEN = '', NUL = '', BROKEN = ''] = VALUES;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const SECRET = `apiVersion: v1
kind: Secret
metadata:
  name: creds
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"token":"${TOKEN}"}}'
immutable: true
data: {password: ${base64(PASSWORD)}}
stringData:
  token: "${TOKEN}" # ${TOKEN}
  nul: "zero\\0byte-value"
`;

/** Each pod with what its container has beside its image. */
const pod = (name: string, container: object): string =>
  JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations: RESTART } },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...{ name: 'app', image: 'docker.io/library/app:1', imagePullPolicy: 'IfNotPresent' },
          ...container,
        },
      ],
      volumes: [{ name: 'v', secret: { secretName: 'creds' } }],
    },
  });
const RESTART = { 'islet.dev/restart-on-change': 'true' };
const from = (key: string, name = 'creds'): object => ({
  name: 'VALUE',
  valueFrom: { secretKeyRef: { name, key } },
});
const PODS: [string, object][] = [
  [
    'well',
    {
      env: [from('password'), { name: 'URL', value: 'db://$(VALUE)' }],
      envFrom: [{ secretRef: { name: 'creds2', optional: true } }],
      args: ['--password=$(VALUE)'],
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    },
  ],
  ['no-key', { env: [from('none')] }],
  ['no-secret', { env: [from('password', 'none')] }],
  ['nul', { env: [from('nul')] }],
  ['bad-create', { env: [from('token')], command: ['$(VALUE)'] }],
  ['bad-start', { env: [from('token')], command: ['$(VALUE)'] }],
  [
    'bad-path',
    {
      env: [from('token')],
      volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: 'token/$(VALUE)' }],
    },
  ],
];

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

it('no value of a Secret gets anywhere but into the pods', async (t) => {
  const bench = await Bench.start(t);
  const { handlers } = bench.cri.runtime;
  bench.cri.on('createContainer', (request) => {
    const [word] = request.config?.command ?? [];
    if (request.config?.labels['io.kubernetes.pod.name'] === 'bad-create-f1') {
      throw new Error(`exec: "${word}": executable file not found in $PATH`);
    }
    return handlers.createContainer!(request);
  });
  bench.cri.on('startContainer', (request) => {
    const { status } = bench.cri.runtime.containers.get(request.containerId) ?? {};
    if (status?.labels['io.kubernetes.pod.name'] !== 'bad-start-f1')
      return handlers.startContainer!(request);
    bench.cri.runtime.exit(request.containerId, 128, 'StartError');
    status.message = `failed to create task: exec: "${TOKEN}": executable file not found in $PATH`;
    throw new Error(status.message);
  });
  bench.write('creds', SECRET, 0o644);
  for (const [name, container] of PODS) bench.write(name, pod(name, container));
  await bench.startAgent();
  const message = (name: string): string =>
    bench.pod(name)?.status.containerStatuses?.[0]?.state.waiting?.message ?? '';
  await bench.until('the pod runs', () => bench.isRunning('well'));
  for (const [name, text] of [
    ['no-key', "couldn't find key none in Secret default/creds"],
    ['no-secret', 'secret "none" not found'],
    [
      'nul',
      'key nul in Secret default/creds has a NUL byte, which no environment variable can have',
    ],
    ['bad-create', 'exec: "<secret default/creds token>": executable file not found in $PATH'],
    ['bad-path', ''],
  ] as const) {
    await bench.until(
      `${name} says why`,
      () => message(name).includes(text) && message(name) !== '',
    );
  }
  await bench.until('bad-start says why', () =>
    JSON.stringify(bench.pod('bad-start')?.status).includes('<secret default/creds token>'),
  );

  // Every way in which a file can be wrong.
  bench.write('double', SECRET.replace('immutable: true\n', ''));
  bench.write('creds', SECRET.replace(base64(PASSWORD), base64('another-immutable-value')), 0o644);
  bench.write(
    'broken',
    `${SECRET}---\napiVersion: v1\nkind: Secret\nstringData:\n  a: *${BROKEN}\n  b: |${BROKEN}\n`,
  );
  bench.write(
    'wrong',
    SECRET.replaceAll('creds', 'wrong').replace(base64(PASSWORD), `[${BROKEN}]`),
  );
  bench.write('json', `{"kind": "Secret", "stringData": {"a": ${BROKEN}}}`);
  await bench.until(
    'they are judged',
    () =>
      ['double', 'broken', 'wrong', 'json'].every((name) => bench.verdict(name) !== undefined) &&
      bench.verdict('creds')?.messages.some((text) => text.includes('immutable')) === true,
  );
  assert.equal(bench.verdict('double')?.state, 'duplicate');
  assert.deepEqual(
    ['broken', 'wrong', 'json'].map((name) => bench.verdict(name)?.state),
    ['invalid', 'invalid', 'invalid'],
  );

  const said = new Map<string, string>();
  const run = async (what: string, command: (io: CliIo) => Promise<number>): Promise<void> => {
    const io = testIo(path.join(bench.root, 'islet.sock'));
    await command(io);
    assert.notEqual(io.stdout.text, '', what);
    said.set(what, io.stdout.text + io.stderr.text);
  };
  for (const output of ['json', 'yaml', undefined]) {
    await run(`get pods -o ${output}`, (io) =>
      getPods({ names: [], ...(output && { output }) }, io),
    );
    await run(`get files -o ${output}`, (io) => getFiles(output ? { output } : {}, io));
  }
  await run('events', (io) => events({}, io));
  for (const [name] of PODS) await run(`describe ${name}`, (io) => describePod({ pod: name }, io));
  for (const output of ['text', 'json'] as const) {
    let text = '';
    const stream = { write: (part: string) => (text += part) };
    const files = ['creds', 'broken', 'wrong', 'json'].map((name) => bench.file(name));
    runCheck(files, { output, nodeName: 'f1', stdout: stream, stderr: stream });
    assert.match(text, /mode 0644, expected 0600|"keys":\["nul","password","token"\]/);
    said.set(`check ${output}`, text);
  }
  const told = bench.cri.callsOf('createContainer').map(({ request }) => {
    const { config } = request as { config?: { annotations: object; labels: object } };
    return JSON.stringify([config?.annotations, config?.labels]);
  });
  assert.ok(told.some((text) => text.includes('islet.dev/config-objects')));
  said.set('labels and annotations', told.join('\n'));

  await bench.stopAgent();
  // Once more, with a file that cannot be read any more.
  writeFileSync(bench.file('creds'), `${SECRET}  more: *${BROKEN}\n`);
  chmodSync(bench.file('creds'), 0o644);
  await bench.startAgent();
  await bench.until(
    'it is known to be missing',
    () =>
      bench
        .verdict('creds')
        ?.messages.some((text) => text.includes('Secret default/creds is missing')) === true,
  );
  await run('describe again', (io) => describePod({ pod: 'well' }, io));
  // The runtime still has what it said about a value that nobody knows any more.
  const lastState = (): string =>
    JSON.stringify(bench.pod('bad-start')?.status.containerStatuses?.[0] ?? {});
  await bench.until('the failed start is in the status', () => /StartError/.test(lastState()));
  assert.match(lastState(), /the message of the runtime is withheld/);
  for (const output of ['json', 'yaml'])
    await run(`get pods -o ${output} again`, (io) => getPods({ names: [], output }, io));
  await run('describe bad-start again', (io) => describePod({ pod: 'bad-start' }, io));
  await bench.stopAgent();
  said.set('log', bench.logs.join(''));
  for (const file of filesBelow(bench.root)) {
    // The volumes of the pods are where the values belong.
    if (!file.includes('/volumes/')) said.set(file, readFileSync(file, 'latin1'));
  }
  assert.ok([...said.keys()].some((name) => name.endsWith('islet.db')));
  const forms = [...VALUES.filter((v) => v !== NUL), 'byte-value', 'another-immutable-value'];
  for (const form of forms.flatMap((value) => [value, base64(value)])) {
    for (const [where, text] of said) {
      const at = text.indexOf(form);
      assert.ok(at < 0, `${form} in ${where}: ${text.slice(Math.max(0, at - 100), at + 60)}`);
    }
  }
});
