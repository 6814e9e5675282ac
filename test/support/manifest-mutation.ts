/**
 * Owns: how manifests are damaged for fuzzing: by bits, lines, pieces of syntax, depth, aliases, size, splices with
 * other manifests, and odd encodings. Text is one character a byte (latin1) on the way, so nothing is mended.
 */
import fc from 'fast-check';

/** Where something happens: a share of the text's length or of its lines. */
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

const PIECES = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ':',
    '- ',
    '\n',
    '  ',
    '\t',
    '&a ',
    '*a',
    '<<: *a',
    '"',
    "'",
    '|',
    '>-\n',
    '!!int ',
  ],
  ...[
    '---\n',
    '~',
    '0x',
    '1e9',
    '\0',
    'ü',
    '\ufeff',
    '%YAML 1.2\n',
    '...\n',
    ',',
    '#',
    '? ',
    '\\',
    '\r',
    '\u2028',
  ],
  ...[
    'null',
    '-1',
    '.inf',
    '9223372036854775808',
    '2001-01-01',
    '@',
    '`',
    '__proto__: {a: b}\n',
    'kind: Secret\n',
  ],
];

type Change = (text: string) => string;

const cut = (text: string, at: number): number => Math.floor(at * text.length);

const flip = fc
  .record({ at: place, bit: fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7) })
  .map(({ at, bit }): Change => (text) => {
    const i = cut(text, at);
    const flipped = String.fromCharCode((text.charCodeAt(i) ^ (1 << bit)) & 0xff);
    return text.slice(0, i) + flipped + text.slice(i + 1);
  });

const piece = fc
  .record({
    at: place,
    remove: fc.nat({ max: 12 }),
    insert: fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 8 })),
  })
  .map(({ at, remove, insert }): Change => (text) => {
    const i = cut(text, at);
    return text.slice(0, i) + bytes(insert) + text.slice(i + remove);
  });

const lines = fc
  .record({
    at: place,
    to: place,
    count: fc.integer({ min: 1, max: 5 }),
    how: fc.constantFrom('duplicate', 'delete', 'move', 'indent', 'outdent', 'repeat'),
  })
  .map(({ at, to, count, how }): Change => (text) => {
    const all = text.split('\n');
    const from = Math.floor(at * all.length);
    const taken = all.slice(from, from + count);
    const target = Math.floor(to * all.length);
    switch (how) {
      case 'duplicate':
        return all.toSpliced(target, 0, ...taken).join('\n');
      case 'delete':
        return all.toSpliced(from, count).join('\n');
      case 'move':
        return all
          .toSpliced(from, count)
          .toSpliced(target, 0, ...taken)
          .join('\n');
      case 'indent':
        return all.with(from, `  ${all[from]}`).join('\n');
      case 'outdent':
        return all.with(from, (all[from] ?? '').replace(/^ {1,2}/, '')).join('\n');
      case 'repeat':
        return all.toSpliced(from, 0, ...Array.from({ length: 30 }, () => taken).flat()).join('\n');
    }
  });

const WORDS = [
  '0',
  '-1',
  '65536',
  'true',
  '""',
  '"x"',
  '/x',
  '1Gi',
  '100m',
  'Always',
  'name',
  'a-b',
  '[]',
  '{}',
  'null',
];

/** One word for another: mostly a manifest still, with another meaning. */
const word = fc
  .record({ at: place, other: fc.oneof(fc.constantFrom(...WORDS), place) })
  .map(({ at, other }): Change => (text) => {
    const words = [...text.matchAll(/[\w./-]+/g)];
    const old = words[Math.floor(at * words.length)];
    if (!old) return text;
    const by = typeof other === 'string' ? other : words[Math.floor(other * words.length)]?.[0];
    return text.slice(0, old.index) + by + text.slice(old.index + old[0].length);
  });

const NESTS = ['[', '{a: ', '- ', '? ', '{"a":', '!!map {', '&x [', '>\n '];

const nest = fc
  .record({ at: place, open: fc.constantFrom(...NESTS), depth: fc.integer({ min: 2, max: 3000 }) })
  .map(({ at, open, depth }): Change => (text) => {
    const i = cut(text, at);
    return text.slice(0, i) + open.repeat(depth) + text.slice(i);
  });

const bomb = fc
  .record({
    levels: fc.integer({ min: 2, max: 12 }),
    fan: fc.integer({ min: 2, max: 12 }),
    at: place,
  })
  .map(({ levels, fan, at }): Change => (text) => {
    const level = (n: number): string => {
      const items = Array.from({ length: fan }, () => (n === 0 ? 'x' : `*b${n - 1}`));
      return `b${n}: &b${n} [${items.join(', ')}]\n`;
    };
    const bombs = Array.from({ length: levels }, (_, n) => level(n)).join('');
    const all = text.split('\n');
    const used = all.toSpliced(Math.floor(at * all.length), 0, `labels: *b${levels - 1}`);
    return bombs + (at < 0.5 ? used.join('\n') : text);
  });

const BULK = [
  'x',
  ' ',
  '\n',
  '"',
  '\\',
  "\\'",
  '- a\n',
  'a: b\n',
  ' #\n',
  '---\n',
  ',',
  '[]',
  '\0',
  '\xff',
  '  k\n\n',
];

const bulk = (largest: number) =>
  fc
    .record({
      at: place,
      what: fc.constantFrom(...BULK),
      power: fc.integer({ min: 8, max: largest }),
    })
    .map(({ at, what, power }): Change => (text) => {
      const i = cut(text, at);
      return text.slice(0, i) + what.repeat(2 ** power / what.length) + text.slice(i);
    });

const truncate = place.map(
  (at): Change =>
    (text) =>
      text.slice(0, cut(text, at)),
);

const ENCODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  'utf-16le with a mark': (text) => Buffer.concat([Buffer.from([0xff, 0xfe]), wide(text)]),
  'utf-16be with a mark': (text) => Buffer.concat([Buffer.from([0xfe, 0xff]), wide(text).swap16()]),
  'utf-16le': wide,
  'utf-8 with a mark': (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), raw(text)]),
  'utf-32le': (text) => Buffer.from(Array.from(raw(text), (byte) => [byte, 0, 0, 0]).flat()),
  'latin1 read as utf-8': (text) => Buffer.from(text, 'utf8'),
  'carriage returns': (text) => raw(text.replaceAll('\n', '\r\n')),
  'old Mac': (text) => raw(text.replaceAll('\n', '\r')),
  'half a character': (text) => raw(text).subarray(0, -1),
};

function raw(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function wide(text: string): Buffer {
  return Buffer.from(raw(text).toString('utf8'), 'utf16le');
}

function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

const small = fc.oneof(
  { weight: 2, arbitrary: flip },
  { weight: 3, arbitrary: piece },
  { weight: 4, arbitrary: lines },
  { weight: 8, arbitrary: word },
);

/** Once in so many times. */
function seldom<T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

export interface Damage {
  /** The largest piece that is put in has so many bytes, as a power of two. */
  readonly largest: number;
}

/** Bytes of a damaged manifest; `seeds` are whole files. Now and then two are spliced, or one is left whole. */
export function damaged(seeds: readonly Buffer[], { largest }: Damage): fc.Arbitrary<Buffer> {
  const texts = seeds.map((seed) => seed.toString('latin1'));
  const big = fc.oneof(
    { weight: 3, arbitrary: nest },
    { weight: 3, arbitrary: bomb },
    { weight: 2, arbitrary: bulk(largest) },
    { weight: 2, arbitrary: truncate },
  );
  const splice = fc.record({ other: fc.constantFrom(...texts), at: place, from: place });
  return fc
    .record({
      seed: fc.constantFrom(...texts),
      splice: seldom(10, splice),
      changes: fc.array(small, { maxLength: 4 }),
      big: seldom(10, big),
      encoding: seldom(20, fc.constantFrom(...Object.keys(ENCODINGS))),
    })
    .map(({ seed, splice, changes, big, encoding }) => {
      let text = seed;
      if (splice) {
        const { other, at, from } = splice;
        text = text.slice(0, cut(text, at)) + other.slice(cut(other, from));
      }
      for (const change of changes) text = change(text);
      if (big) text = big(text);
      return encoding === null ? raw(text) : (ENCODINGS[encoding] ?? raw)(text);
    });
}
