import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { QuickConnection } from '../../../src/probe/grpc-quick.ts';
import { saysStatusOk } from '../../../src/probe/hpack.ts';
import { frame, healthRequest } from '../../../src/probe/health-message.ts';
import { listen } from './support.ts';

const SERVING = frame(Buffer.from([8, 1]));
const NONE = Buffer.alloc(0);

function h2(type: number, flags: number, stream: number, payload: Buffer = NONE): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const SETTINGS = h2(4, 0, 0);
/** `:status: 200` */
const RESPONSE = h2(1, 4, 1, hex('88'));
const MESSAGE = h2(0, 0, 1, SERVING);
const OK = hex('00 0b 677270632d737461747573 01 30');
const TRAILERS = h2(1, 5, 1, OK);
const WHOLE = Buffer.concat([SETTINGS, RESPONSE, MESSAGE, TRAILERS]);

interface Made {
  readonly quick: QuickConnection;
  /** All that has come to the server. */
  readonly got: Buffer[];
  readonly check: (signal?: AbortSignal) => Promise<boolean>;
}

/** A connection to a server by hand, which calls `serve` once it has read something. */
async function connectTo(
  t: TestContext,
  serve: (socket: net.Socket) => void,
  service = '',
): Promise<Made> {
  const got: Buffer[] = [];
  const server = net.createServer((socket) => {
    socket.setNoDelay(true).on('error', () => undefined);
    socket.once('data', () => serve(socket));
    socket.on('data', (bytes) => got.push(bytes));
  });
  const port = await listen(server);
  const target = { host: '127.0.0.1', port, address: `127.0.0.1:${port}` };
  const buffer = Buffer.allocUnsafeSlow(16 * 1024);
  const quick = new QuickConnection(target, healthRequest(service), 'kube-probe/1.36', buffer);
  t.after(() => {
    quick.close();
    server.close();
  });
  return { quick, got, check: (signal = new AbortController().signal) => quick.check(signal) };
}

/** Each byte a packet of its own, as far as that can be had. */
async function dribble(socket: net.Socket, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a quick health check', () => {
  it('asks a server of HTTP/2 as gRPC wants it, again and again', async (t) => {
    const seen: http2.IncomingHttpHeaders[] = [];
    const bodies: string[] = [];
    const server = http2.createServer();
    server.on('stream', (stream, headers) => {
      seen.push({ ...headers });
      stream.on('data', (bytes: Buffer) => bodies.push(bytes.toString('hex')));
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.end(SERVING);
    });
    const port = await listen(server);
    t.after(() => server.close());
    const target = { host: '127.0.0.1', port, address: `127.0.0.1:${port}` };
    const buffer = Buffer.allocUnsafeSlow(16 * 1024);
    const quick = new QuickConnection(target, healthRequest('web'), 'kube-probe/1.36', buffer);
    const { signal } = new AbortController();
    for (let i = 0; i < 5; i++) assert.equal(await quick.check(signal), true);
    quick.close();
    assert.deepEqual(bodies, Array(5).fill('00000000050a03776562'));
    assert.deepEqual(seen[4], {
      [http2.sensitiveHeaders]: [],
      ...{ ':method': 'POST', ':scheme': 'http', ':path': '/grpc.health.v1.Health/Check' },
      ...{ ':authority': target.address, 'content-type': 'application/grpc', te: 'trailers' },
      'user-agent': 'kube-probe/1.36',
    });
  });

  it('understands an answer byte by byte', async (t) => {
    const made = await connectTo(t, (socket) => void dribble(socket, WHOLE));
    assert.equal(await made.check(), true);
    assert.equal(made.quick.isUsable, true);
  });

  it('acknowledges settings and pings', async (t) => {
    const ping = Buffer.from('abcdefgh');
    const end = Buffer.concat([RESPONSE, MESSAGE, TRAILERS]);
    const made = await connectTo(t, (socket) => {
      socket.write(Buffer.concat([SETTINGS, h2(6, 0, 0, ping)]));
      socket.on('data', () => {
        if (Buffer.concat(made.got).includes(h2(6, 1, 0, ping))) socket.write(end);
      });
    });
    assert.equal(await made.check(), true);
    assert.ok(Buffer.concat(made.got).includes(h2(4, 1, 0)));
  });

  const well: [string, Buffer[]][] = [
    [
      'a message in two parts',
      [RESPONSE, h2(0, 0, 1, SERVING.subarray(0, 3)), h2(0, 0, 1, SERVING.subarray(3)), TRAILERS],
    ],
    [
      'windows, priorities and frames nobody knows',
      [
        h2(8, 0, 0, hex('00000100')),
        h2(2, 0, 1, hex('0000000001')),
        h2(99, 7, 5, OK),
        RESPONSE,
        MESSAGE,
        TRAILERS,
      ],
    ],
  ];
  for (const [name, frames] of well) {
    it(`understands ${name}`, async (t) => {
      const made = await connectTo(t, (socket) =>
        socket.write(Buffer.concat([SETTINGS, ...frames])),
      );
      assert.equal(await made.check(), true);
    });
  }

  const rows: [string, Buffer[]][] = [
    ['the end without a message', [SETTINGS, RESPONSE, TRAILERS]],
    ['a status in the first headers', [SETTINGS, h2(1, 5, 1, OK)]],
    ['NOT_SERVING', [SETTINGS, RESPONSE, h2(0, 0, 1, frame(Buffer.from([8, 2]))), TRAILERS]],
    ['a compressed message', [SETTINGS, RESPONSE, h2(0, 0, 1, hex('01 00000002 0801')), TRAILERS]],
    ['half a message', [SETTINGS, RESPONSE, h2(0, 0, 1, SERVING.subarray(0, 6)), TRAILERS]],
    [
      'another grpc-status',
      [SETTINGS, RESPONSE, MESSAGE, h2(1, 5, 1, hex('00 0b 677270632d737461747573 01 35'))],
    ],
    ['no grpc-status', [SETTINGS, RESPONSE, MESSAGE, h2(1, 5, 1, hex('88'))]],
    ['an end in the data', [SETTINGS, RESPONSE, h2(0, 1, 1, SERVING)]],
    ['padding', [SETTINGS, RESPONSE, h2(0, 8, 1, Buffer.concat([hex('00'), SERVING])), TRAILERS]],
    ['headers that go on', [SETTINGS, h2(1, 0, 1, hex('88')), h2(9, 4, 1)]],
    [
      'GOAWAY in the middle',
      [SETTINGS, RESPONSE, h2(7, 0, 0, hex('0000000100000000')), MESSAGE, TRAILERS],
    ],
    ['RST_STREAM', [SETTINGS, h2(3, 0, 1, hex('00000002'))]],
    ['a push', [SETTINGS, h2(5, 4, 1, hex('00000002 88'))]],
    ['another stream', [SETTINGS, h2(1, 4, 3, hex('88'))]],
    ['anything before the settings', [RESPONSE, MESSAGE, TRAILERS]],
    ['cut settings', [h2(4, 0, 0, hex('0004'))]],
    [
      'a window that is too small',
      [h2(4, 0, 0, hex('0004 00000001')), RESPONSE, MESSAGE, TRAILERS],
    ],
    ['a short ping', [SETTINGS, h2(6, 0, 0, hex('00'))]],
    ['too long a message', [SETTINGS, RESPONSE, h2(0, 0, 1, Buffer.alloc(2000)), TRAILERS]],
    ['a huge frame', [SETTINGS, hex('ffffff 00 00 00000001')]],
    ['too much', [SETTINGS, ...Array<Buffer>(40).fill(h2(99, 0, 0, Buffer.alloc(2000)))]],
    ['HTTP/1', [Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')]],
  ];
  for (const [name, frames] of rows) {
    it(`leaves ${name} to the full client`, async (t) => {
      const made = await connectTo(t, (socket) => socket.write(Buffer.concat(frames)));
      assert.equal(await made.check(), false);
      assert.deepEqual([made.quick.isUsable, await made.check()], [false, false]);
    });
  }

  it('leaves an answer that breaks off to the full client', async (t) => {
    for (const length of [0, 5, WHOLE.length - 1]) {
      const made = await connectTo(t, (socket) => socket.end(WHOLE.subarray(0, length)));
      assert.equal(await made.check(), false, String(length));
    }
  });

  it('that gets no answer ends with its signal', async (t) => {
    const abort = new AbortController();
    const made = await connectTo(t, () => abort.abort(new Error('late')));
    await assert.rejects(made.check(abort.signal), /late/);
    assert.equal(made.quick.isUsable, false);
  });

  it('notices between two checks that the server goes away', async (t) => {
    let server: net.Socket | undefined;
    const made = await connectTo(t, (socket) => (server = socket).write(WHOLE));
    assert.equal(await made.check(), true);
    const closed = new Promise((resolve) => server?.once('close', resolve));
    server?.write(h2(7, 0, 0, hex('0000000100000000')));
    await closed;
    assert.equal(made.quick.isUsable, false);
  });

  it('bears any bytes', async (t) => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(bytes, fc.nat(WHOLE.length), async (noise, at) => {
        const answer = Buffer.concat([WHOLE.subarray(0, at), noise]);
        const made = await connectTo(t, (socket) => socket.end(answer));
        const isWhole = at === WHOLE.length;
        if (isWhole) await made.check();
        else assert.equal(await made.check(), answer.subarray(0, WHOLE.length).equals(WHOLE));
        made.quick.close();
      }),
      { numRuns: 200 },
    );
  });
});

describe('saysStatusOk', () => {
  const rows: [string, string, boolean][] = [
    ['plain', '00 0b677270632d737461747573 0130', true],
    ['in the Huffman code', '00 889acac8b21234da8f 8107', true],
    ['with indexing, after a table size', '20 40 889acac8b21234da8f 0130', true],
    ['never indexed, among others', '88 10 889acac8b21234da8f 0130 5f 0161', true],
    [
      'twice, not the same',
      '00 0b677270632d737461747573 0130 00 0b677270632d737461747573 0135',
      false,
    ],
    ['an entry of a dynamic table', '00 0b677270632d737461747573 0130 be', false],
    ['a cut text', '00 0b677270632d737461747573 0230', false],
    ['an integer without end', '00 0b677270632d737461747573 0130 00 7fffffffffffff', false],
    ['nothing', '', false],
  ];
  for (const [name, block, expected] of rows) {
    it(name, () => assert.equal(saysStatusOk(hex(block)), expected));
  }

  it('ends on any bytes', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void saysStatusOk(Buffer.from(bytes))));
  });
});
