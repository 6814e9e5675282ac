import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { events } from '../../../src/cli/events.ts';
import { getFiles, getPods } from '../../../src/cli/get.ts';
import { logs } from '../../../src/cli/logs.ts';
import { version } from '../../../src/cli/version.ts';
import type { EventView, FileView } from '../../../src/server/view.ts';
import { criLine } from '../log/support.ts';
import { container, ended, pod, status, temporaryDirectory, up } from '../server/support.ts';
import { NOW, startAgent, testIo, type TestAgent } from './support.ts';

const STARTED = '2026-01-01T00:00:00Z';

function file(name: string, more: Partial<FileView> = {}): FileView {
  return {
    file: `/m/${name}`,
    state: 'accepted',
    messages: [],
    pods: [],
    usingLastGood: false,
    ...more,
  };
}

function event(name: string, more: Partial<EventView> = {}): EventView {
  return {
    type: 'Normal',
    reason: 'Started',
    message: 'Started container app',
    kind: 'Pod',
    namespace: 'default',
    name,
    uid: `uid-${name}`,
    count: 1,
    firstSeenMs: NOW - 600_000,
    lastSeenMs: NOW - 60_000,
    ...more,
  };
}

async function agentWithPods(t: TestContext): Promise<TestAgent> {
  const agent = await startAgent(t);
  const restarted = up('app', { restartCount: 2, lastState: ended('app', 1) });
  agent.view.podList = [
    pod('web', {
      status: {
        phase: 'Running',
        startTime: STARTED,
        podIP: '10.88.0.2',
        containerStatuses: [restarted],
      },
    }),
    pod('db', { status: { phase: 'Pending', startTime: STARTED } }),
  ];
  return agent;
}

describe('islet get pods', () => {
  it('has the columns of kubectl', async (t) => {
    const { run } = await agentWithPods(t);
    const { status, out, err } = await run(getPods, { names: [] });
    assert.equal(
      out,
      'NAME        READY   STATUS    RESTARTS      AGE\n' +
        'db-edge1    0/1     Pending   0             60m\n' +
        'web-edge1   1/1     Running   2 (59m ago)   60m\n',
    );
    assert.deepEqual([status, err], [0, '']);
  });

  it('has more of them when asked for', async (t) => {
    const { run } = await agentWithPods(t);
    const { out } = await run(getPods, { names: ['web'], output: 'wide', allNamespaces: true });
    assert.deepEqual(
      out.split('\n').map((line) => line.split(/ {2,}/)),
      [
        [
          'NAMESPACE',
          'NAME',
          'READY',
          'STATUS',
          'RESTARTS',
          'AGE',
          'IP',
          'NODE',
          'NOMINATED NODE',
          'READINESS GATES',
        ],
        [
          'default',
          'web-edge1',
          '1/1',
          'Running',
          '2 (59m ago)',
          '60m',
          '10.88.0.2',
          'edge1',
          '<none>',
          '<none>',
        ],
        [''],
      ],
    );
  });

  it('shows all namespaces, names them when there are several, and keeps to one when told', async (t) => {
    const { run, view } = await agentWithPods(t);
    view.podList.push(pod('dns', { metadata: { namespace: 'kube-system' } }));
    const { out } = await run(getPods, { names: [] });
    assert.deepEqual(
      out.split('\n').map((line) => line.split(/ +/).slice(0, 2).join('/')),
      ['NAMESPACE/NAME', 'default/db-edge1', 'default/web-edge1', 'kube-system/dns-edge1', ''],
    );
    const one = await run(getPods, { names: [], namespace: 'kube-system' });
    assert.match(one.out, /^NAME +READY.*\ndns-edge1 .*\n$/);
    const none = await run(getPods, { names: [], namespace: 'nope' });
    assert.deepEqual(none, { status: 0, out: '', err: 'No pods found in nope namespace.\n' });
  });

  it('gives JSON and YAML that say the same', async (t) => {
    const { run, view } = await agentWithPods(t);
    view.podList[0]!.metadata.annotations = { a: 'yes', b: '0400', c: '1' };
    const json = JSON.parse((await run(getPods, { names: [], output: 'json' })).out) as object;
    const yaml = (await run(getPods, { names: [], output: 'yaml' })).out;
    assert.deepEqual(parse(yaml, { version: '1.1' }), json);
    assert.deepEqual(parse(yaml, { version: '1.2' }), json);
    const one = JSON.parse(
      (await run(getPods, { names: ['pod/web'], output: 'json' })).out,
    ) as object;
    assert.deepEqual(one, JSON.parse(JSON.stringify(view.podList[0])));
    assert.equal(
      (await run(getPods, { names: [], output: 'name' })).out,
      'pod/db-edge1\npod/web-edge1\n',
    );
  });

  it('says beside the table which files do not run as they stand', async (t) => {
    const { run, view } = await agentWithPods(t);
    view.fileList = [
      file('web.yaml'),
      file('web.yaml~', { state: 'ignored', messages: ['backup file'] }),
      file('db.yaml', { state: 'invalid', messages: ['db.yaml:3: x', 'y'], usingLastGood: true }),
    ];
    const { err } = await run(getPods, { names: [] });
    assert.match(
      err,
      /^\/m\/db\.yaml is invalid, its pods run from what was good last: db\.yaml:3: x \(and 1 more.*\n$/,
    );
  });

  it('finds no pod of another name, and asks which one of two', async (t) => {
    const { run, view } = await agentWithPods(t);
    const nope = await run(getPods, { names: ['nope'] });
    assert.deepEqual(nope, {
      status: 1,
      out: '',
      err: 'Error from server (NotFound): pods "nope" not found\n',
    });
    view.podList.push(pod('web', { metadata: { namespace: 'other' } }));
    const two = await run(getPods, { names: ['web'] });
    assert.equal(two.status, 1);
    assert.match(two.err, /default, other/);
    assert.equal((await run(getPods, { names: ['web-edge1'], namespace: 'other' })).status, 0);
    assert.equal((await run(getPods, { names: [], output: 'xml' })).status, 1);
  });
});

describe('islet get files', () => {
  it('says for each file what it is and why', async (t) => {
    const { run, view } = await startAgent(t);
    view.fileList = [
      file('web.yaml', { pods: ['default/web-edge1'] }),
      file('x.yaml', { state: 'invalid', messages: ['one', 'two\x1b[2J'] }),
      file('web.yaml~', { state: 'ignored', messages: ['not a manifest by its name'] }),
    ];
    assert.equal(
      (await run(getFiles, {})).out,
      'FILE           STATE      PODS                MESSAGE\n' +
        '/m/web.yaml    accepted   default/web-edge1\n' +
        '/m/x.yaml      invalid    <none>              one\n' +
        '                                              two^[[2J\n' +
        '/m/web.yaml~   ignored    <none>              not a manifest by its name\n',
    );
    const json = JSON.parse((await run(getFiles, { output: 'json' })).out) as { items: unknown };
    assert.deepEqual(json.items, view.fileList);
  });
});

describe('islet events', () => {
  it('are shown oldest first with the columns of kubectl', async (t) => {
    const { run, view } = await startAgent(t);
    view.eventList = [
      event('web-edge1', {
        type: 'Warning',
        reason: 'BackOff',
        message: 'Back-off\nrestarting',
        count: 3,
        lastSeenMs: NOW,
      }),
      event('web-edge1'),
      event('db-edge1'),
    ];
    assert.equal(
      (await run(events, { for: 'pod/web' })).out,
      'LAST SEEN          TYPE      REASON    OBJECT          MESSAGE\n' +
        '60s                Normal    Started   Pod/web-edge1   Started container app\n' +
        '0s (x3 over 10m)   Warning   BackOff   Pod/web-edge1   Back-off restarting\n',
    );
    assert.equal((await run(events, { for: 'db-edge1' })).out.split('\n').length, 3);
    assert.equal((await run(events, {})).out.split('\n').length, 5);
    assert.deepEqual(await run(events, { namespace: 'other' }), {
      status: 0,
      out: '',
      err: 'No events found.\n',
    });
  });
});

describe('islet version', () => {
  it('tells its own and that of the agent', async (t) => {
    const { run } = await startAgent(t);
    const { out } = await run(version, { islet: '1.0.0', node: 'v22.0.0' });
    assert.match(out, /^islet 1\.0\.0 .*\nagent 1\.2\.3 .*edge1.*up 5m.*containerd 1\.7\.0\n$/);
  });
});

describe('islet logs', () => {
  async function withLog(t: TestContext) {
    const agent = await agentWithPods(t);
    const directory = join(agent.podLogsDir, 'default_web-edge1_uid-web', 'app');
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, '1.log'), criLine('before'));
    await writeFile(join(directory, '2.log'), criLine('one', 1) + criLine('two', 2));
    return { ...agent, directory };
  }

  it('prints the log, its end, the one before, with times', async (t) => {
    const { run } = await withLog(t);
    assert.equal((await run(logs, { pod: 'web' })).out, 'one\ntwo\n');
    assert.equal((await run(logs, { pod: 'pod/web-edge1', tail: '1' })).out, 'two\n');
    assert.equal((await run(logs, { pod: 'web', tail: '-1', limitBytes: '2' })).out, 'on');
    assert.equal((await run(logs, { pod: 'web', previous: true })).out, 'before\n');
    assert.equal(
      (await run(logs, { pod: 'web', timestamps: true, tail: '1' })).out,
      '2026-01-01T00:00:02.000000000Z two\n',
    );
    assert.equal((await run(logs, { pod: 'web', since: '1s' })).out, '');
  });

  it('follows until the container ends', async (t) => {
    const { view, socketPath, directory } = await withLog(t);
    const io = testIo(socketPath);
    const written = (part: string): Promise<void> =>
      new Promise((resolve) => {
        const write = io.stdout.write.bind(io.stdout);
        io.stdout.write = (data, done) => {
          const more = write(data, done);
          if (io.stdout.text.includes(part)) resolve();
          return more;
        };
      });
    const two = written('two\n');
    const running = logs({ pod: 'web', follow: true }, io);
    await two;
    const three = written('three\n');
    await appendFile(join(directory, '2.log'), criLine('three'));
    await three;
    view.podList = [];
    assert.equal(await running, 0);
    assert.equal(io.stdout.text, 'one\ntwo\nthree\n');
  });

  it('ends on Ctrl-C, and quietly when nobody reads any more', async (t) => {
    const { socketPath } = await withLog(t);
    const controller = new AbortController();
    const io = testIo(socketPath, { signal: controller.signal });
    const write = io.stdout.write.bind(io.stdout);
    io.stdout.write = (data, done) => {
      controller.abort();
      return write(data, done);
    };
    assert.equal(await logs({ pod: 'web', follow: true }, io), 130);
    const closed = testIo(socketPath);
    closed.stdout.write = (_data, done) => {
      done?.(Object.assign(new Error('broken pipe'), { code: 'EPIPE' }));
      return false;
    };
    assert.equal(await logs({ pod: 'web', follow: true }, closed), 0);
    assert.equal(closed.stderr.text, '');
  });

  it('asks which container is meant', async (t) => {
    const { run, view } = await withLog(t);
    const spec = {
      containers: [container('app'), container('side')],
      initContainers: [container('prep')],
    };
    const web = pod('web', { spec, status: view.podList[0]!.status });
    view.podList = [web];
    const { status, out, err } = await run(logs, { pod: 'web' });
    assert.deepEqual([status, out], [1, '']);
    assert.match(err, /\[app side\] or one of the init containers: \[prep\]\n$/);
    assert.equal((await run(logs, { pod: 'web', container: 'app' })).out, 'one\ntwo\n');
    assert.match(
      (await run(logs, { pod: 'web', container: 'x' })).err,
      /^error: container "x" .*\[app side\]/,
    );
    web.metadata.annotations = { 'kubectl.kubernetes.io/default-container': 'app' };
    assert.equal((await run(logs, { pod: 'web' })).out, 'one\ntwo\n');
  });

  it('says why there is none', async (t) => {
    const { run, view } = await withLog(t);
    const creating = status('app', { state: { waiting: { reason: 'ContainerCreating' } } });
    view.podList = [pod('web', { status: { containerStatuses: [creating] } })];
    const { status: code, err } = await run(logs, { pod: 'web' });
    assert.equal(code, 1);
    assert.equal(
      err,
      'Error from server (BadRequest): container "app" in pod "web-edge1" is waiting to start: ContainerCreating\n',
    );
    for (const wrong of [
      { tail: 'x' },
      { since: '5' },
      { since: '5m', sinceTime: STARTED },
      { limitBytes: '-1' },
    ]) {
      const refused = await run(logs, { pod: 'web', ...wrong });
      assert.deepEqual([refused.status, refused.err.split('\n').length], [1, 2]);
    }
  });
});

describe('a command without an agent', () => {
  it('says that none runs, and where it was looked for', async (t) => {
    const socketPath = join(await temporaryDirectory(t), 'islet.sock');
    const io = testIo(socketPath);
    assert.equal(await getPods({ names: [] }, io), 1);
    assert.match(
      io.stderr.text,
      /^islet is not running: nothing answers on .*islet\.sock; start it with .*\n$/,
    );
    assert.equal(io.stdout.text, '');
  });

  it('says that the agent went away in the middle of its answer', async (t) => {
    const socketPath = join(await temporaryDirectory(t), 'islet.sock');
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Length': 100 });
      response.write('{"items":[');
      response.socket?.destroySoon();
    });
    server.listen(socketPath);
    await once(server, 'listening');
    t.after(() => server.close());
    const io = testIo(socketPath);
    assert.equal(await getPods({ names: [] }, io), 1);
    assert.match(io.stderr.text, /^islet ended the connection.*\n$/);
  });
});
