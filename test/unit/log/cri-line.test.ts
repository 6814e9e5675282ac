import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fixedWidthTimestamp, parseCriLine, timestampMs } from '../../../src/log/cri-line.ts';

const parse = (text: string) => {
  const line = parseCriLine(Buffer.from(text));
  return line && { ...line, message: line.message.toString() };
};

describe('a line of a container log', () => {
  it('has time, stream, tag and message', () => {
    assert.deepEqual(parse('2026-01-02T03:04:05.678Z stdout F hello  world '), {
      timestamp: '2026-01-02T03:04:05.678Z',
      stream: 'stdout',
      partial: false,
      message: 'hello  world ',
    });
    assert.equal(parse('2026-01-02T03:04:05.678901234+02:00 stderr P:x:y part')?.partial, true);
    assert.equal(parse('2026-01-02T03:04:05Z stdout F ')?.message, '');
  });

  for (const [what, text] of [
    ['nothing', ''],
    ['no spaces', 'x'.repeat(100)],
    ['no message part', '2026-01-02T03:04:05Z stdout F'],
    ['a foreign stream', '2026-01-02T03:04:05Z stdin F x'],
    ['a foreign tag', '2026-01-02T03:04:05Z stdout X x'],
    ['a word for a time', 'yesterday stdout F x'],
    ['JSON', '{"log":"x\\n","stream":"stdout","time":"2026-01-02T03:04:05Z"}'],
    ['NUL bytes', '\0\0\0\0 stdout F x'],
  ] as const) {
    it(`is not made of ${what}`, () => assert.equal(parse(text), undefined));
  }

  it('never throws, and gives back what was put in', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        parseCriLine(Buffer.from(bytes));
      }),
    );
    fc.assert(
      fc.property(
        fc.uint8Array(),
        fc.constantFrom('stdout' as const, 'stderr' as const),
        fc.boolean(),
        (bytes, stream, partial) => {
          const head = `2026-01-02T03:04:05.1Z ${stream} ${partial ? 'P' : 'F'} `;
          const line = parseCriLine(Buffer.concat([Buffer.from(head), bytes]));
          assert.ok(line);
          assert.deepEqual([line.stream, line.partial], [stream, partial]);
          assert.deepEqual(line.message, Buffer.from(bytes));
        },
      ),
    );
  });

  it('shows its time with nine digits and compares it with all of them', () => {
    assert.equal(fixedWidthTimestamp('2026-01-02T03:04:05Z'), '2026-01-02T03:04:05.000000000Z');
    assert.equal(
      fixedWidthTimestamp('2026-01-02T03:04:05.12+02:00'),
      '2026-01-02T03:04:05.120000000+02:00',
    );
    const second = Date.UTC(2026, 0, 2, 3, 4, 5);
    assert.equal(timestampMs('2026-01-02T05:04:05.25+02:00'), second + 250);
    assert.ok(timestampMs('2026-01-02T03:04:05.000999Z') > second);
  });
});
