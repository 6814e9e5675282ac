import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BadAnswer, HttpAnswer } from '../../../src/probe/http-response.ts';

interface Read {
  status: number;
  location: string | undefined;
  body: string;
  done: boolean;
}

/** Reads `text` in the given pieces; then the stream ends. */
function read(text: string, cuts: readonly number[] = []): Read {
  const bytes = Buffer.from(text);
  const answer = new HttpAnswer();
  let from = 0;
  for (const cut of [
    ...cuts.map((c) => c % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ]) {
    const piece = Buffer.from(bytes.subarray(from, cut));
    answer.push(piece);
    piece.fill(0); // the caller reuses its buffer
    from = cut;
  }
  const done = answer.isDone;
  answer.end();
  return { status: answer.status, location: answer.location, body: answer.body(), done };
}

const head = (status: string, ...lines: string[]): string =>
  [`HTTP/1.1 ${status}`, ...lines, '', ''].join('\r\n');

const CHUNKED = `${head('302 Found', 'Transfer-Encoding: chunked', 'location: /x')}5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nTrailer: 1\r\n\r\n`;

describe('an HTTP answer', () => {
  const rows: [string, string, Partial<Read>][] = [
    [
      'sized',
      `${head('300 M', 'Content-Length: 5')}hello`,
      { status: 300, body: 'hello', done: true },
    ],
    ['empty', head('200 OK', 'Content-Length: 0'), { status: 200, done: true }],
    ['without a body', head('204 No Content'), { status: 204, done: true }],
    ['until the end', `${head('303 See')}hello`, { status: 303, body: 'hello', done: false }],
    ['chunked', CHUNKED, { status: 302, location: '/x', body: 'hello world', done: true }],
    ['after 103', `${head('103 Early')}${head('404 No', 'Content-Length: 0')}`, { status: 404 }],
    ['without words', 'HTTP/1.0 200\n\n', { status: 200, done: false }],
    ['of another protocol', head('101 Switching Protocols'), { status: 101, done: true }],
  ];
  for (const [name, text, expected] of rows) {
    it(name, () => assert.deepEqual({ ...read(text), ...expected }, read(text)));
    it(`${name}, cut anywhere`, () => {
      fc.assert(
        fc.property(fc.array(fc.nat()), (cuts) => assert.deepEqual(read(text, cuts), read(text))),
      );
    });
  }

  it('keeps 10 KiB of the body and wants no more', () => {
    const answer = new HttpAnswer();
    answer.push(Buffer.from(`${head('302 Found', 'Content-Length: 1000000')}${'x'.repeat(9000)}`));
    assert.equal(answer.isDone, false);
    answer.push(Buffer.from('y'.repeat(9000)));
    assert.equal(answer.isDone, true);
    assert.equal(answer.body(), 'x'.repeat(9000) + 'y'.repeat(1240));
  });

  const bad: [string, string][] = [
    ['nothing', ''],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a cut head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['a cut body', `${head('200 OK', 'Content-Length: 5')}hell`],
    ['a cut chunk', CHUNKED.slice(0, -20)],
    ['a size that is none', `${head('200 OK', 'Transfer-Encoding: chunked')}zz\r\n`],
    ['a length that is none', head('200 OK', 'Content-Length: -1')],
    ['a line that is no header', head('200 OK', 'hello')],
    ['an endless head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(300_000)}`],
  ];
  for (const [name, text] of bad) {
    it(`refuses ${name}`, () => assert.throws(() => read(text), BadAnswer));
  }

  it('never throws anything else, whatever comes', () => {
    const part = fc.constantFrom(
      'HTTP/1.1 200 OK',
      '\r\n',
      ':',
      'Content-Length: 3',
      '5',
      'a',
      '\0',
    );
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat()), (parts, cuts) => {
        try {
          read(parts.join(''), cuts);
        } catch (error) {
          assert.ok(error instanceof BadAnswer);
        }
      }),
    );
  });
});
