import assert from 'node:assert/strict';
import net from 'node:net';
import { describe, it } from 'node:test';
import { probeTcp } from '../../../src/probe/tcp.ts';
import { ManualClock } from '../../support/clock.ts';
import { close, closedPort, limitOf, listen, subjectOf } from './support.ts';

describe('a tcpSocket probe', () => {
  it('succeeds when somebody accepts, and closes', async () => {
    let closed = (): void => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const server = net.createServer((socket) => socket.resume().once('close', closed));
    const port = await listen(server);
    const outcome = await probeTcp(subjectOf({ tcpSocket: { port } }), limitOf());
    await gone;
    await close(server);
    assert.deepEqual(outcome, { kind: 'success' });
  });

  it('goes to the host of the handler', async () => {
    const server = net.createServer((socket) => socket.resume().end());
    const port = await listen(server);
    const subject = subjectOf({ tcpSocket: { port, host: '127.0.0.1' } }, {}, '192.0.2.1');
    const outcome = await probeTcp(subject, limitOf());
    await close(server);
    assert.deepEqual(outcome, { kind: 'success' });
  });

  it('fails when nobody listens', async () => {
    const port = await closedPort();
    const text = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
    const outcome = await probeTcp(subjectOf({ tcpSocket: { port } }), limitOf());
    assert.deepEqual(outcome, { kind: 'failure', text });
  });

  it('fails when the time is up', async () => {
    const clock = new ManualClock();
    // TEST-NET-1 answers nobody, and the clock moves before any router could say so.
    const subject = subjectOf({ tcpSocket: { port: 80 }, timeoutSeconds: 2 }, {}, '192.0.2.1');
    const outcome = probeTcp(subject, limitOf(clock));
    await clock.advance(2000);
    const { kind } = await outcome;
    assert.equal(kind, 'failure');
  });
});
