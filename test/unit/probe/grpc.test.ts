import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { Server, ServerCredentials, status as Status } from '@grpc/grpc-js';
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import type { Probe } from '../../../src/api/pod.ts';
import { GrpcProber } from '../../../src/probe/grpc.ts';
import { frame, healthRequest, healthStatus, unframe } from '../../../src/probe/health-message.ts';
import type { Outcome } from '../../../src/probe/model.ts';
import { ManualClock } from '../../support/clock.ts';
import { close, closedPort, limitOf, listen, subjectOf } from './support.ts';

type Check = (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => void;

const same = (bytes: Buffer): Buffer => bytes;
const METHOD = {
  ...{ path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false },
  ...{ requestSerialize: same, requestDeserialize: same },
  ...{ responseSerialize: same, responseDeserialize: same },
};

async function withServer(
  check: Check | undefined,
  body: (port: number) => Promise<void>,
): Promise<void> {
  const server = new Server();
  if (check) server.addService({ Check: METHOD }, { Check: check });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
  try {
    await body(port);
  } finally {
    server.forceShutdown();
  }
}

function probe(port: number, service = '', clock = new ManualClock()): Promise<Outcome> {
  const subject = subjectOf({ grpc: { port, service } });
  return new GrpcProber({ userAgent: 'kube-probe/1.36', clock }).probe(subject, limitOf(clock));
}

const SERVING = Buffer.from([8, 1]);
const failed = (text: string): Outcome => ({ kind: 'failure', text });

describe('a grpc probe', () => {
  it('asks a real server about the service', async () => {
    const seen: unknown[] = [];
    const check: Check = (call, answer) => {
      seen.push(call.request.toString('hex'), call.metadata.get('user-agent'));
      answer(null, SERVING);
    };
    await withServer(check, async (port) => {
      assert.deepEqual(await probe(port, 'web'), { kind: 'success' });
      assert.deepEqual(await probe(port), { kind: 'success' });
    });
    assert.deepEqual(seen, ['0a03776562', ['kube-probe/1.36'], '', ['kube-probe/1.36']]);
  });

  it('asks a server of grpc-js often over two connections', async () => {
    const clock = new ManualClock();
    const limit = limitOf(clock);
    const prober = new GrpcProber({ userAgent: 'kube-probe/1.36', clock });
    const peers = new Set<string>();
    const check: Check = (call, answer) => {
      peers.add(call.getPeer());
      assert.equal(call.request.toString('hex'), '0a03776562');
      answer(null, SERVING);
    };
    await withServer(check, async (port) => {
      const subject = subjectOf({ grpc: { port, service: 'web' }, periodSeconds: 1 });
      for (let i = 0; i < 5; i++) {
        assert.deepEqual(await prober.probe(subject, limit), { kind: 'success' });
      }
    });
    assert.equal(peers.size, 2);
  });

  const statuses: [number, string][] = [
    [0, 'UNKNOWN'],
    [2, 'NOT_SERVING'],
    [3, 'SERVICE_UNKNOWN'],
  ];
  for (const [number, name] of statuses) {
    it(`fails on ${name}`, async () => {
      const message = number === 0 ? Buffer.alloc(0) : Buffer.from([8, number]);
      await withServer(
        (_, answer) => answer(null, message),
        async (port) => {
          const text = `service unhealthy (responded with "${name}")`;
          assert.deepEqual(await probe(port), failed(text));
        },
      );
    });
  }

  it('fails on a service that the server does not know', async () => {
    await withServer(
      (_, answer) => answer({ code: Status.NOT_FOUND, details: 'unknown service ü' }),
      async (port) => {
        const text =
          'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service ü';
        assert.deepEqual(await probe(port, 'x'), failed(text));
      },
    );
  });

  it('fails on a server without the health protocol', async () => {
    await withServer(undefined, async (port) => {
      const outcome = await probe(port);
      assert.equal(outcome.kind, 'failure');
      assert.match(
        outcome.text,
        /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /,
      );
    });
  });

  it('fails when the call takes too long', async () => {
    const clock = new ManualClock();
    await withServer(
      () => void clock.advance(1000),
      async (port) => {
        const text = 'timeout: health rpc did not complete within 1s';
        assert.deepEqual(await probe(port, '', clock), failed(text));
      },
    );
  });

  it('fails when the server never speaks', async () => {
    const clock = new ManualClock();
    const server = net.createServer((socket) => {
      socket.resume().on('error', () => undefined);
      void clock.advance(1000);
    });
    const port = await listen(server);
    const outcome = await probe(port, '', clock);
    await close(server);
    const text = `timeout: failed to connect service "127.0.0.1:${port}" within 1s: context deadline exceeded`;
    assert.deepEqual(outcome, failed(text));
  });

  it('fails at once when nobody listens', async () => {
    const port = await closedPort();
    const text = `error: failed to connect service at "127.0.0.1:${port}": dial tcp 127.0.0.1:${port}: connect: connection refused`;
    assert.deepEqual(await probe(port), failed(text));
  });

  it('fails on a server that speaks something else', async () => {
    const server = http.createServer((_, answer) => answer.end());
    const port = await listen(server);
    const outcome = await probe(port);
    await close(server);
    assert.equal(outcome.kind, 'failure');
  });
});

describe('the connection of a grpc probe', () => {
  /** A server that counts its connections, and the probes of one worker. */
  class Counted {
    readonly clock = new ManualClock();
    readonly stop = new AbortController();
    readonly sessions: http2.ServerHttp2Session[] = [];
    /** undefined: no answer. */
    health: number | undefined = 1;
    /** Bytes of a header that says nothing. */
    padding = 0;
    onCheck: () => void = () => undefined;
    /** Of the last outcome that was no success. */
    text = '';
    readonly #limit = limitOf(this.clock, this.stop.signal);
    readonly #prober = new GrpcProber({ userAgent: 'kube-probe/1.36', clock: this.clock });
    readonly #server = http2.createServer();

    static async start(t: TestContext): Promise<Counted> {
      const counted = new Counted();
      await new Promise<void>((resolve) => counted.#server.listen(0, '127.0.0.1', resolve));
      t.after(() => {
        counted.stop.abort(new Error('the test is over'));
        counted.#server.close();
      });
      return counted;
    }

    constructor() {
      this.#server.on('session', (session) => this.sessions.push(session));
      this.#server.on('stream', (stream) => {
        const trailers = { 'grpc-status': '0', padding: '~'.repeat(this.padding) };
        this.onCheck();
        if (this.health === undefined) return;
        stream.on('wantTrailers', () => stream.sendTrailers(trailers)).on('error', () => undefined);
        stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.end(frame(Buffer.from([8, this.health])));
      });
    }

    get port(): number {
      return (this.#server.address() as net.AddressInfo).port;
    }

    async probe(more: Partial<Probe> = {}, containerId = 'c1'): Promise<string> {
      const handler = { grpc: { port: this.port }, periodSeconds: 1, ...more };
      const subject = { ...subjectOf(handler), containerId };
      const outcome = await this.#prober.probe(subject, this.#limit);
      if (outcome.kind !== 'success') this.text = outcome.text;
      return outcome.kind;
    }
  }

  it('is quick after the first success, and serves frequent probes for ten seconds', async (t) => {
    const server = await Counted.start(t);
    const counts: number[] = [];
    for (let second = 0; second <= 11; second++) {
      assert.equal(await server.probe(), 'success');
      counts.push(server.sessions.length);
      await server.clock.advance(1000);
    }
    assert.deepEqual(counts, [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3]);
  });

  it('is made anew for rare probes, another container, another service', async (t) => {
    const server = await Counted.start(t);
    for (const count of [1, 2]) {
      await server.probe({ periodSeconds: 10 });
      assert.equal(server.sessions.length, count);
    }
    for (const container of ['c1', 'c1', 'c1', 'c2']) await server.probe({}, container);
    assert.equal(server.sessions.length, 5);
    await server.probe({}, 'c2');
    await server.probe({ grpc: { port: server.port, service: 'web' } }, 'c2');
    assert.equal(server.sessions.length, 7);
  });

  it('asks the full client about anything but a success, and stays with it until the next one', async (t) => {
    const server = await Counted.start(t);
    await server.probe();
    await server.probe();
    server.health = 2;
    assert.deepEqual([await server.probe(), server.sessions.length], ['failure', 3]);
    assert.deepEqual([await server.probe(), server.sessions.length], ['failure', 4]);
    server.health = 1;
    assert.deepEqual([await server.probe(), server.sessions.length], ['success', 5]);
  });

  it('that the server closed is no failure', async (t) => {
    const server = await Counted.start(t);
    await server.probe();
    await server.probe();
    server.sessions[1]?.destroy();
    assert.deepEqual([await server.probe(), server.sessions.length], ['success', 3]);
  });

  it('is given up for a container whose server only the full client understands', async (t) => {
    const server = await Counted.start(t);
    server.padding = 9000; // no answer of a health check is so long
    const counts: number[] = [];
    for (let i = 0; i < 4; i++) {
      assert.equal(await server.probe(), 'success');
      counts.push(server.sessions.length);
    }
    assert.deepEqual(counts, [1, 3, 4, 5]);
  });

  it('keeps to the time when the kept one gets no answer', async (t) => {
    const server = await Counted.start(t);
    await server.probe();
    await server.probe();
    server.health = undefined;
    server.onCheck = () => void server.clock.advance(1000);
    assert.equal(await server.probe(), 'failure');
    assert.equal(server.sessions.length, 2);
    assert.equal(server.text, 'timeout: health rpc did not complete within 1s');
  });

  it('ends with the worker', async (t) => {
    const server = await Counted.start(t);
    await server.probe();
    await server.probe();
    const closed = once(server.sessions[1] ?? assert.fail(), 'close');
    server.stop.abort(new Error('stopped'));
    await closed;
  });
});

describe('the messages of the health protocol', () => {
  it('name services longer than one byte can count', () => {
    const request = healthRequest('x'.repeat(300));
    assert.equal(request.subarray(0, 3).toString('hex'), '0aac02');
    assert.equal(request.length, 303);
  });

  const rows: [string, string, string | undefined][] = [
    ['other fields are passed over', '120161080218ff011d00000000', 'NOT_SERVING'],
    ['the last status counts', '08020801', 'SERVING'],
    ['a status nobody knows', '0809', '9'],
    ['a cut varint', '08', undefined],
    ['a cut field', '1205', undefined],
    ['a group', '0b', undefined],
  ];
  for (const [name, hex, expected] of rows) {
    it(name, () => assert.equal(healthStatus(Buffer.from(hex, 'hex')), expected));
  }

  it('come in frames', () => {
    assert.deepEqual(unframe(frame(SERVING)), SERVING);
    assert.equal(unframe(frame(SERVING).subarray(0, 6)), undefined);
    assert.equal(unframe(Buffer.from([1, 0, 0, 0, 0])), undefined);
  });
});
