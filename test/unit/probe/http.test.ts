import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { HttpGetAction } from '../../../src/api/pod.ts';
import { HttpProber } from '../../../src/probe/http.ts';
import type { Outcome } from '../../../src/probe/model.ts';
import { codeOf } from '../../../src/util/errors.ts';
import { ManualClock } from '../../support/clock.ts';
import { close, closedPort, limitOf, listen, subjectOf } from './support.ts';

type Handler = (request: http.IncomingMessage, answer: http.ServerResponse) => void;

async function withServer(
  handler: Handler,
  body: (port: number, get: (more?: Partial<HttpGetAction>) => Promise<Outcome>) => Promise<void>,
): Promise<void> {
  const server = http.createServer(handler);
  const port = await listen(server);
  try {
    await body(port, (more) => probe({ port, ...more }));
  } finally {
    server.closeAllConnections();
    await close(server);
  }
}

function probe(httpGet: HttpGetAction, limit = limitOf()): Promise<Outcome> {
  return new HttpProber('kube-probe/1.36').probe(subjectOf({ httpGet }), limit);
}

const failed = (text: string): Outcome => ({ kind: 'failure', text });

describe('an httpGet probe', () => {
  it('sends what the spec says, and closes', async () => {
    const seen: http.IncomingMessage[] = [];
    await withServer(
      (request, answer) => {
        seen.push(request);
        answer.end('ok');
      },
      async (port, get) => {
        const httpHeaders = [
          { name: 'X-A', value: '1' },
          { name: 'X-A', value: '2' },
        ];
        assert.deepEqual(await get({ path: '/h?a=b', httpHeaders }), { kind: 'success' });
        const [request] = seen;
        assert.equal(request?.url, '/h?a=b');
        assert.equal(request.method, 'GET');
        assert.deepEqual(
          { ...request.headersDistinct },
          {
            host: [`127.0.0.1:${port}`],
            'user-agent': ['kube-probe/1.36'],
            connection: ['close'],
            accept: ['*/*'],
            'x-a': ['1', '2'],
          },
        );
      },
    );
  });

  const statuses: [number, Outcome][] = [
    [200, { kind: 'success' }],
    [204, { kind: 'success' }],
    [304, { kind: 'warning', text: 'Probe terminated redirects, Response body: ' }],
    [302, { kind: 'warning', text: 'Probe terminated redirects, Response body: b' }],
    [404, failed('HTTP probe failed with statuscode: 404')],
    [503, failed('HTTP probe failed with statuscode: 503')],
  ];
  for (const [status, expected] of statuses) {
    it(`answered with ${status}`, async () => {
      const handler: Handler = (_, answer) => {
        answer.statusCode = status;
        answer.end('b');
      };
      await withServer(handler, async (_, get) => assert.deepEqual(await get(), expected));
    });
  }

  it('answered with another protocol', async () => {
    const server = net.createServer((socket) => {
      socket
        .resume()
        .end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    });
    const port = await listen(server);
    assert.deepEqual(await probe({ port }), failed('HTTP probe failed with statuscode: 101'));
    await close(server);
  });

  it('ignores the proxy of the environment', async () => {
    process.env['http_proxy'] = `http://127.0.0.1:${await closedPort()}`;
    try {
      await withServer(
        (_, answer) => void answer.end(),
        async (_, get) => assert.deepEqual(await get(), { kind: 'success' }),
      );
    } finally {
      delete process.env['http_proxy'];
    }
  });

  it('finds a port by name, and a number in a string', async () => {
    await withServer(
      (_, answer) => void answer.end(),
      async (port) => {
        const ports = [{ name: 'web', containerPort: port, protocol: 'TCP' as const }];
        for (const wanted of ['web', String(port)]) {
          const subject = subjectOf({ httpGet: { port: wanted } }, { ports });
          const outcome = await new HttpProber('x').probe(subject, limitOf());
          assert.deepEqual(outcome, { kind: 'success' });
        }
      },
    );
  });

  it('cannot run for a port that is none', async () => {
    for (const port of ['web', '0', '70000', 0]) {
      await assert.rejects(probe({ port }), (error) => codeOf(error) === 'invalid');
    }
  });

  it('cannot run while the pod has no address', async () => {
    const subject = subjectOf({ httpGet: { port: 80 } }, {}, '');
    const outcome = new HttpProber('x').probe(subject, limitOf());
    await assert.rejects(outcome, (error) => codeOf(error) === 'unavailable');
  });

  it('reads no more than 10 KiB, and that is enough', async () => {
    await withServer(
      (_, answer) => void answer.write('x'.repeat(100_000)), // never ends
      async (_, get) => assert.deepEqual(await get(), { kind: 'success' }),
    );
  });

  it('fails on a header that cannot be sent', async () => {
    const outcome = await probe({ port: 80, httpHeaders: [{ name: 'a b', value: 'c' }] });
    const text = 'Get "http://127.0.0.1:80/": net/http: invalid header field name "a b"';
    assert.deepEqual(outcome, failed(text));
  });
});

describe('redirects', () => {
  /** Paths that were asked for; each answer comes from `to`. */
  async function follow(
    to: (path: string, port: number) => string,
    more: Partial<HttpGetAction> = {},
  ): Promise<{ outcome: Outcome; paths: string[] }> {
    const paths: string[] = [];
    let outcome: Outcome | undefined;
    let port = 0;
    const handler: Handler = (request, answer) => {
      paths.push(
        `${request.headers.host === `127.0.0.1:${port}` ? '' : request.headers.host}${request.url}`,
      );
      const location = to(request.url ?? '', port);
      if (location === '') return void answer.end();
      answer.writeHead(302, { location }).end('moved');
    };
    await withServer(handler, async (made, get) => {
      port = made;
      outcome = await get({ path: '/a', ...more });
    });
    assert.ok(outcome);
    return { outcome, paths };
  }

  it('are followed on the same host, with the Host header while they are relative', async () => {
    const { outcome, paths } = await follow(
      (at, port) => ({ '/a': 'b?c', '/b?c': `http://127.0.0.1:${port}/d` })[at] ?? '',
      { httpHeaders: [{ name: 'Host', value: 'web' }] },
    );
    assert.deepEqual(paths, ['web/a', 'web/b?c', '/d']);
    assert.deepEqual(outcome, { kind: 'success' });
  });

  it('to another host end with a warning', async () => {
    const { outcome, paths } = await follow(() => 'http://localhost:1/');
    assert.deepEqual(paths, ['/a']);
    const text = 'Probe terminated redirects, Response body: moved';
    assert.deepEqual(outcome, { kind: 'warning', text });
  });

  it('end after ten requests', async () => {
    const { outcome, paths } = await follow(() => '/a');
    assert.equal(paths.length, 10);
    assert.equal(outcome.kind, 'failure');
    assert.match(outcome.text, /stopped after 10 redirects$/);
  });

  it('to another scheme fail', async () => {
    const { outcome } = await follow(() => 'ftp://127.0.0.1/');
    assert.equal(outcome.kind, 'failure');
    assert.match(outcome.text, /unsupported protocol scheme "ftp"$/);
  });
});

describe('an httpGet probe that gets no answer', () => {
  it('is refused', async () => {
    const port = await closedPort();
    const text = `Get "http://127.0.0.1:${port}/x": dial tcp 127.0.0.1:${port}: connect: connection refused`;
    assert.deepEqual(await probe({ port, path: '/x' }), failed(text));
  });

  it('runs out of time before the head: a failure', async () => {
    const clock = new ManualClock();
    await withServer(
      () => void clock.advance(1000),
      async (port) => {
        const outcome = await probe({ port }, limitOf(clock));
        assert.equal(outcome.kind, 'failure');
        assert.match(outcome.text, /Client\.Timeout exceeded while awaiting headers/);
      },
    );
  });

  it('runs out of time within the body: an error, which does not count', async () => {
    const clock = new ManualClock();
    const server = net.createServer((socket) => {
      socket.resume().write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab');
      socket.on('error', () => undefined);
    });
    const port = await listen(server);
    const limit = limitOf(clock);
    const outcome = new HttpProber('x').probe(subjectOf({ httpGet: { port } }), limit);
    // The two bytes are there soon; until then there is no reader to tell.
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1000);
    const { kind } = await outcome;
    await close(server);
    assert.equal(kind, 'error');
  });

  it('gets half an answer: an error, which does not count', async () => {
    const server = net.createServer((socket) => {
      socket.resume().end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab');
    });
    const port = await listen(server);
    const outcome = await probe({ port });
    await close(server);
    assert.deepEqual(outcome, { kind: 'error', text: 'unexpected EOF', state: 'failure' });
  });

  it('gets an end instead of an answer', async () => {
    const server = net.createServer((socket) => socket.resume().end());
    const port = await listen(server);
    const outcome = await probe({ port });
    await close(server);
    assert.deepEqual(outcome, failed(`Get "http://127.0.0.1:${port}/": EOF`));
  });

  it('ends at once when its worker is stopped', async () => {
    const stop = new AbortController();
    await withServer(
      () => stop.abort(new Error('stopped')),
      async (port) => {
        const outcome = probe({ port }, limitOf(new ManualClock(), stop.signal));
        await assert.rejects(outcome, { message: 'stopped' });
      },
    );
  });
});

describe('an httpGet probe over https', () => {
  const made = certificate();
  const skip = made === undefined ? 'there is no openssl to make a certificate' : false;

  it('does not check the certificate', { skip }, async () => {
    const server = https.createServer(made ?? {}, (request, answer) => answer.end(request.url));
    const port = await listen(server);
    const outcome = await probe({ port, scheme: 'HTTPS', path: '/x' });
    await close(server);
    assert.deepEqual(outcome, { kind: 'success' });
  });

  it('says so when the server speaks plain http', async () => {
    await withServer(
      (_, answer) => void answer.end(),
      async (port, get) => {
        const text = `Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client`;
        assert.deepEqual(await get({ scheme: 'HTTPS' }), failed(text));
      },
    );
  });
});

function certificate(): { key: Buffer; cert: Buffer } | undefined {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-probe-'));
  const [key, cert] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')];
  const what = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=probe'];
  try {
    execFileSync('openssl', ['req', ...what, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { key: fs.readFileSync(key), cert: fs.readFileSync(cert) };
  } catch {
    return undefined;
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}
