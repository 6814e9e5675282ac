import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bytesOfText, textOfBytes } from '../../../src/util/byte-text.ts';

describe('bytes as text', () => {
  it('is the text where there is one', () => {
    assert.equal(textOfBytes(Buffer.from('schön 😀\n')), 'schön 😀\n');
    assert.deepEqual(Buffer.from(bytesOfText('schön 😀')), Buffer.from('schön 😀'));
  });

  it('keeps the characters between bytes that are none', () => {
    const bytes = Buffer.concat([
      Buffer.of(0xff),
      Buffer.from('ö😀'),
      Buffer.of(0xc3, 0x28, 0xe2, 0x82),
    ]);
    const text = textOfBytes(bytes);
    assert.equal(text, '\udcffö😀\udcc3(\udce2\udc82');
    assert.deepEqual(Buffer.from(bytesOfText(text)), bytes);
  });

  it('comes back as it was, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        assert.deepEqual(Buffer.from(bytesOfText(textOfBytes(bytes))), Buffer.from(bytes));
      }),
    );
  });
});
