import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, lstat, mkdir, readdir, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { serveSocket } from '../../../src/server/socket.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { codeOf, messageOf } from '../../../src/util/errors.ts';
import { criLine } from '../log/support.ts';
import { ask, ended, FakeView, memoryLog, pod, status, temporaryDirectory, up } from './support.ts';

async function start(t: TestContext, directory?: string) {
  const root = directory ?? (await temporaryDirectory(t));
  const view = new FakeView();
  const socketPath = join(root, 'islet.sock');
  const podLogsDir = join(root, 'pods');
  const { log } = memoryLog();
  const server = await serveSocket({ view, socketPath, podLogsDir, clock: new SystemClock(), log });
  t.after(() => server.close());
  const get = async (path: string) => {
    const answer = await ask({ socketPath }, path);
    return {
      ...answer,
      json:
        answer.status === 200 && /json/.test(String(answer.headers['content-type']))
          ? (JSON.parse(answer.body) as unknown)
          : undefined,
    };
  };
  return { root, view, socketPath, podLogsDir, server, get };
}

describe('the socket of the agent', () => {
  it('is for root alone and leaves nothing beside itself', async (t) => {
    const { root, socketPath, server } = await start(t);
    const { mode } = await lstat(socketPath);
    assert.equal(mode & 0o777, 0o600);
    assert.deepEqual(await readdir(root), ['islet.sock']);
    await server.close();
    assert.deepEqual(await readdir(root), []);
  });

  it('refuses to take the place of an agent that lives', async (t) => {
    const { root, get } = await start(t);
    await assert.rejects(start(t, root), (error) => codeOf(error) === 'already-exists');
    assert.equal((await get('/v1/version')).status, 200);
    assert.deepEqual(await readdir(root), ['islet.sock']);
  });

  it('takes the place of an agent that was killed', async (t) => {
    const root = await temporaryDirectory(t);
    const script = `require('net').createServer().listen('${join(root, 'islet.sock')}', () => console.log('up'))`;
    const killed = spawn(process.execPath, ['-e', script]);
    await once(killed.stdout, 'data');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    assert.ok((await lstat(join(root, 'islet.sock'))).isSocket());
    const { get } = await start(t, root);
    assert.equal((await get('/v1/version')).status, 200);
  });

  it('says in one line that there is no room for it', async (t) => {
    const root = await temporaryDirectory(t);
    await writeFile(join(root, 'file'), '');
    await assert.rejects(start(t, join(root, 'file')), (error) => {
      assert.match(messageOf(error), /^listening on .*islet\.sock: E[A-Z]+: /);
      return codeOf(error) === 'failed';
    });
  });

  it('touches nothing that is not a socket, and no socket that is not its own', async (t) => {
    const root = await temporaryDirectory(t);
    await writeFile(join(root, 'islet.sock'), 'precious');
    await assert.rejects(start(t, root), (error) => codeOf(error) === 'invalid');
    const { server, socketPath } = await start(t);
    execFileSync('rm', [socketPath]);
    await writeFile(socketPath, 'precious');
    await server.close();
    assert.ok((await lstat(socketPath)).isFile());
  });

  it('says that a path is too long to be one', async (t) => {
    const root = join(await temporaryDirectory(t), 'x'.repeat(100));
    await mkdir(root);
    await assert.rejects(start(t, root), (error) => codeOf(error) === 'invalid');
  });

  it('gives pods, files, events, warnings and the version', async (t) => {
    const { view, get } = await start(t);
    view.podList = [pod('web')];
    view.fileList = [
      {
        file: '/m/web.yaml',
        state: 'accepted',
        messages: [],
        pods: ['default/web-edge1'],
        usingLastGood: false,
      },
    ];
    view.warningsOf = { 'uid-web': ['spec.foo: unknown field'] };
    const event = (name: string, count: number) => ({
      type: 'Normal' as const,
      reason: 'Started',
      message: 'm',
      kind: 'Pod' as const,
      namespace: 'default',
      name,
      uid: `uid-${name}`,
      count,
      firstSeenMs: 1,
      lastSeenMs: 2,
    });
    view.eventList = [event('a', 1), event('b', 2), event('b', 3)];
    assert.deepEqual((await get('/v1/pods')).json, {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: view.podList,
    });
    assert.deepEqual((await get('/v1/files')).json, { items: view.fileList });
    assert.deepEqual((await get('/v1/warnings/uid-web')).json, {
      items: ['spec.foo: unknown field'],
    });
    assert.deepEqual((await get('/v1/events?pod=b&limit=1')).json, { items: [event('b', 3)] });
    assert.deepEqual((await get('/v1/version')).json, view.version());
    assert.equal((await get('/v1/events?limit=x')).status, 400);
    assert.deepEqual((await get('/v1/stats/summary')).json, {
      node: { nodeName: 'edge1' },
      pods: [],
      allocatable: view.allocatable,
    });
    assert.equal((await get('/v1/metrics/resource')).body, 'resource_scrape_error 0\n');
    assert.equal(
      (await get('/v1/metrics')).body,
      `${view.metrics()}kubelet_volume_stats_used_bytes 7\n`,
    );
    const unknown = await get('/v1/nothing');
    assert.equal(unknown.status, 404);
    assert.equal((JSON.parse(unknown.body) as { reason: string }).reason, 'NotFound');
  });
});

describe('logs over the socket', () => {
  async function withLog(t: TestContext) {
    const agent = await start(t);
    const directory = join(agent.podLogsDir, 'default_web-edge1_uid-web', 'app');
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, '0.log'), criLine('old'));
    await writeFile(join(directory, '1.log'), criLine('one', 1) + criLine('two', 2));
    const running = up('app', {
      restartCount: 1,
      containerID: 'containerd://app-1',
      lastState: ended('app', 0),
    });
    agent.view.podList = [
      pod('web', { status: { phase: 'Running', containerStatuses: [running] } }),
    ];
    return { ...agent, file: join(directory, '1.log') };
  }

  it('are those of the instance asked for', async (t) => {
    const { get } = await withLog(t);
    assert.equal((await get('/v1/logs/default/web-edge1/app')).body, 'one\ntwo\n');
    assert.equal((await get('/v1/logs/default/web-edge1/app?previous=true')).body, 'old\n');
    assert.equal((await get('/v1/logs/default/web-edge1/app?tailLines=1')).body, 'two\n');
    assert.equal(
      (await get('/v1/logs/default/web-edge1/app?sinceTime=2026-01-01T00:00:02Z&timestamps=1'))
        .body,
      '2026-01-01T00:00:02.000000000Z two\n',
    );
  });

  it('are refused with a reason', async (t) => {
    const { get, view } = await withLog(t);
    const cases: [string, number][] = [
      ['default/nope/app', 404],
      ['other/web-edge1/app', 404],
      ['default/web-edge1/nope', 404],
      ['default/web-edge1/app?tailLines=x', 400],
      ['default/web-edge1/app?tailLines=-1', 422],
      ['default/web-edge1/app?sinceSeconds=0', 422],
      ['default/web-edge1/app?limitBytes=0', 422],
      ['default/web-edge1/app?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', 422],
      ['default/web-edge1/app?sinceTime=yesterday', 400],
      ['default/web-edge1/app?stream=Stdout', 422],
    ];
    for (const [path, expected] of cases) {
      assert.equal((await get(`/v1/logs/${path}`)).status, expected, path);
    }
    const waiting = status('app', { state: { waiting: { reason: 'ErrImagePull' } } });
    view.podList = [pod('web', { status: { containerStatuses: [waiting] } })];
    const answer = await get('/v1/logs/default/web-edge1/app');
    assert.equal(answer.status, 400);
    assert.match(answer.body, /waiting to start: image can't be pulled/);
  });

  it('of a container whose file is gone are not found', async (t) => {
    const { get, view } = await withLog(t);
    view.podList = [pod('db', { status: { containerStatuses: [up('app')] } })];
    assert.equal((await get('/v1/logs/default/db-edge1/app')).status, 404);
  });

  function followed(socketPath: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const path = '/v1/logs/default/web-edge1/app?follow=true';
      request({ socketPath, path, agent: false }, resolve).on('error', reject).end();
    });
  }

  async function until(response: IncomingMessage, part: string): Promise<string> {
    let text = '';
    for await (const bytes of response.iterator({ destroyOnReturn: false })) {
      text += String(bytes);
      if (text.includes(part)) break;
    }
    return text;
  }

  it('can be followed until the container ends', async (t) => {
    const { socketPath, view, file } = await withLog(t);
    const response = await followed(socketPath);
    assert.equal(await until(response, 'two\n'), 'one\ntwo\n');
    await appendFile(file, criLine('three'));
    assert.equal(await until(response, 'three\n'), 'three\n');
    view.podList = [];
    await once(response.resume(), 'end');
    assert.ok(response.complete);
  });

  it('end unfinished when the agent stops', async (t) => {
    const { socketPath, server } = await withLog(t);
    const response = await followed(socketPath);
    await until(response, 'two\n');
    const error = once(response, 'error').catch(() => undefined);
    response.on('error', () => undefined);
    response.resume();
    await server.close();
    await error;
    assert.equal(response.complete, false);
  });
});
