import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { serveHealthz } from '../../../src/server/healthz.ts';
import { HttpServer } from '../../../src/server/http-server.ts';
import { plainError } from '../../../src/server/healthz.ts';
import { readOnlyServer } from '../../../src/server/read-only.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { codeOf, IsletError } from '../../../src/util/errors.ts';
import { ManualClock, settle } from '../../support/clock.ts';
import { ask, FakeView, memoryLog, pod, up } from './support.ts';

const LOCAL = { host: '127.0.0.1', port: 0, setting: 'readOnlyPort' };

async function start(t: TestContext, view = new FakeView()) {
  const { log, lines } = memoryLog();
  const server = readOnlyServer({ view, clock: new SystemClock(), log });
  const port = await server.listen(LOCAL);
  t.after(() => server.close());
  return { view, port, server, lines };
}

describe('the read-only port', () => {
  it('lists the pods as a v1 PodList', async (t) => {
    const { view, port } = await start(t);
    view.podList = [pod('web', { status: { phase: 'Running', containerStatuses: [up('app')] } })];
    const { status, headers, body } = await ask({ port }, '/pods');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'application/json');
    const list = JSON.parse(body) as { items: unknown[] };
    assert.deepEqual(
      { ...list, items: [] },
      { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [] },
    );
    assert.deepEqual(list.items, JSON.parse(JSON.stringify(view.podList)));
    assert.equal((await ask({ port }, '/pods/')).status, 200);
  });

  it('answers HEAD with the headers alone', async (t) => {
    const { port } = await start(t);
    const { status, headers, body } = await ask({ port }, '/pods', 'HEAD');
    assert.deepEqual([status, body], [200, '']);
    assert.ok(Number(headers['content-length']) > 0);
  });

  it('gives metrics in the text format of Prometheus', async (t) => {
    const { port, view } = await start(t);
    const { headers, body } = await ask({ port }, '/metrics');
    assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    assert.equal(body, `${view.metrics()}kubelet_volume_stats_used_bytes 7\n`);
  });

  it('serves many at once without a warning', async (t) => {
    const { port, view } = await start(t);
    const warnings: Error[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    const asked = 20;
    let answer: (() => void) | undefined;
    const all = new Promise<void>((resolve) => (answer = resolve));
    let waiting = 0;
    view.stats.summary = async () => {
      if (++waiting === asked) answer?.();
      await all;
      return { node: {}, pods: [] };
    };
    const answers = Array.from({ length: asked }, () => ask({ port }, '/stats/summary'));
    assert.ok((await Promise.all(answers)).every(({ status }) => status === 200));
    assert.deepEqual(warnings, []);
  });

  it('tells how much is used', async (t) => {
    const { port, view } = await start(t);
    const asked: boolean[] = [];
    view.stats.summary = ({ onlyCpuAndMemory }) => {
      asked.push(onlyCpuAndMemory);
      return Promise.resolve({ node: {}, pods: [] });
    };
    const { headers, body } = await ask({ port }, '/stats/summary');
    assert.equal(headers['content-type'], 'application/json');
    assert.deepEqual(JSON.parse(body), { node: {}, pods: [] });
    await ask({ port }, '/stats/summary?only_cpu_and_memory=true');
    await ask({ port }, '/stats/summary?only_cpu_and_memory=no');
    assert.deepEqual(asked, [false, true, false]);
    for (const [path, text] of [
      ['/metrics/resource', 'resource_scrape_error 0\n'],
      ['/metrics/cadvisor', 'machine_cpu_cores 4\n'],
    ] as const) {
      const answer = await ask({ port }, path);
      assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
      assert.equal(answer.body, text);
    }
  });

  it('says why usage cannot be told', async (t) => {
    const { port, view } = await start(t);
    view.stats.summary = () => Promise.reject(new IsletError('unavailable', 'no runtime yet'));
    const { status, body } = await ask({ port }, '/stats/summary');
    assert.deepEqual([status, body.trim()], [500, 'Internal Error: no runtime yet']);
  });

  it('has no other paths, and refuses what would run or change something', async (t) => {
    const { port } = await start(t);
    for (const path of ['/', '/podss', '/pods/x', '/%', '/../pods', '/healthz/nope']) {
      assert.ok([404, 400].includes((await ask({ port }, path)).status), path);
    }
    for (const path of [
      '/exec/default/web/app',
      '/run/a/b/c',
      '/runningpods/',
      '/debug/pprof/heap',
    ]) {
      const answer = await ask({ port }, path);
      assert.deepEqual(
        [answer.status, answer.body],
        [405, 'Debug endpoints are disabled.\n'],
        path,
      );
    }
    assert.equal((await ask({ port }, '/exec/default/web/app', 'POST')).status, 405);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask({ port }, '/pods', method);
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD'], method);
    }
  });

  it('shows a client nothing of an internal error, and the log all of it', async (t) => {
    const { port, view, lines } = await start(t);
    view.pods = () => {
      throw new Error('secret thing broke');
    };
    const { status, body } = await ask({ port }, '/pods');
    assert.equal(status, 500);
    assert.doesNotMatch(body, /secret|at /);
    assert.match(lines.join(''), /secret thing broke/);
  });

  it('refuses headers without end', async (t) => {
    const { port } = await start(t);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /pods HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 431 /);
  });

  it('says in one line that its port is taken', async (t) => {
    const { port } = await start(t);
    const second = readOnlyServer({
      view: new FakeView(),
      clock: new SystemClock(),
      log: memoryLog().log,
    });
    await assert.rejects(second.listen({ ...LOCAL, port }), (error: Error) => {
      assert.equal(codeOf(error), 'already-exists');
      assert.ok(error.message.includes(String(port)) && !error.message.includes('\n'));
      return true;
    });
    await second.close();
  });
});

describe('healthz', () => {
  it('is ok while every check passes', async (t) => {
    const { port, view } = await start(t);
    view.checks = [{ name: 'syncloop' }];
    const plain = await ask({ port }, '/healthz');
    assert.deepEqual([plain.status, plain.body], [200, 'ok']);
    assert.equal((await ask({ port }, '/healthz/ping')).body, 'ok');
    assert.equal((await ask({ port }, '/healthz/syncloop')).body, 'ok');
    assert.equal(
      (await ask({ port }, '/healthz?verbose')).body,
      '[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n',
    );
  });

  it('is 500 when one fails, names it, and says why only for that one', async (t) => {
    const { port, view } = await start(t);
    view.checks = [
      { name: 'syncloop', error: 'sync Loop took longer than expected' },
      { name: 'pleg' },
    ];
    const all = await ask({ port }, '/healthz');
    assert.equal(all.status, 500);
    assert.equal(
      all.body,
      '[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\n[+]pleg ok\nhealthz check failed\n',
    );
    const one = await ask({ port }, '/healthz/syncloop');
    assert.equal(one.status, 500);
    assert.equal(one.body, 'internal server error: sync Loop took longer than expected\n');
    assert.equal((await ask({ port }, '/healthz?exclude=syncloop')).body, 'ok');
    assert.match(
      (await ask({ port }, '/healthz?exclude=syncloop&verbose')).body,
      /syncloop excluded: ok/,
    );
  });

  it('has a port of its own that only says that the process answers', async () => {
    const { log } = memoryLog();
    const controller = new AbortController();
    const port = await freePort();
    const address = { host: '127.0.0.1', port, setting: 'healthzPort' };
    const serving = serveHealthz(address, { clock: new SystemClock(), log }, controller.signal);
    await settle();
    assert.equal((await ask({ port }, '/healthz')).body, 'ok');
    assert.equal((await ask({ port }, '/pods')).status, 404);
    controller.abort();
    await serving;
    await assert.rejects(ask({ port }, '/healthz'));
  });

  it('waits for a port that is taken, saying so once', async () => {
    const { log, lines } = memoryLog();
    const clock = new ManualClock();
    const other = new HttpServer({
      name: 'other',
      routes: {},
      renderError: plainError,
      clock,
      log,
    });
    const port = await other.listen({ ...LOCAL, setting: 'x' });
    const controller = new AbortController();
    const address = { host: '127.0.0.1', port, setting: 'healthzPort' };
    const serving = serveHealthz(address, { clock, log }, controller.signal);
    await nextTry(clock);
    await nextTry(clock);
    assert.equal(lines.length, 1);
    await other.close();
    await nextTry(clock);
    assert.equal((await ask({ port }, '/healthz')).body, 'ok');
    controller.abort();
    await serving;
  });
});

/** Waits until the server sleeps before its next try, and lets that time pass. */
async function nextTry(clock: ManualClock): Promise<void> {
  while ((clock.untilNext ?? 0) < 5000) await settle();
  await clock.advance(5000);
}

async function freePort(): Promise<number> {
  const { log } = memoryLog();
  const server = new HttpServer({
    name: 'any',
    routes: {},
    renderError: plainError,
    clock: new SystemClock(),
    log,
  });
  const port = await server.listen(LOCAL);
  await server.close();
  return port;
}
