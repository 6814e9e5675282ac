import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { blindMs, grown, nextLookMs } from '../../../src/log/growth.ts';
import { byAge, nextStamp, parseLogName } from '../../../src/log/log-name.ts';
import { boundOf, planDirectory, type DirectoryFile } from '../../../src/log/rotation-plan.ts';

const LIMITS = { maxSize: 100, maxFiles: 5 };

function files(...names: string[]): DirectoryFile[] {
  return names.map((name) => ({ name, size: 10 }));
}

describe('what goes and what is compressed', () => {
  it('is as the worked example of the specification has it, rotation by rotation', () => {
    let there = files('0.log');
    const after: string[][] = [];
    for (let i = 1; i <= 5; i++) {
      there.push({ name: `0.log.2026010${i}-000000`, size: 10 });
      const { remove, compress } = planDirectory(there, '0.log', LIMITS);
      there = there
        .filter(({ name }) => !remove.includes(name))
        .map((f) => (compress.includes(f.name) ? { ...f, name: `${f.name}.gz` } : f));
      after.push(there.map(({ name }) => name.replace(/0\.log\.2026010(\d)-000000/, 'T$1')));
    }
    assert.deepEqual(after, [
      ['0.log', 'T1'],
      ['0.log', 'T1.gz', 'T2'],
      ['0.log', 'T1.gz', 'T2.gz', 'T3'],
      ['0.log', 'T1.gz', 'T2.gz', 'T3.gz', 'T4'],
      ['0.log', 'T2.gz', 'T3.gz', 'T4.gz', 'T5'],
    ]);
  });

  it('clears what a compression that was cut off has left', () => {
    const there = files('0.log', '0.log.1', '0.log.1.gz', '0.log.2.tmp', '0.log.2', '0.log.3');
    const plan = planDirectory(there, '0.log', LIMITS);
    assert.deepEqual(plan, { remove: ['0.log.1', '0.log.2.tmp'], compress: ['0.log.2'] });
  });

  it('leaves files alone that are no logs', () => {
    const there = files('0.log', 'core', '0.log.bak', 'x.log', '..data');
    assert.deepEqual(planDirectory(there, '0.log', LIMITS), { remove: [], compress: [] });
  });

  it('counts the logs of earlier instances, and the oldest of them goes first', () => {
    const there = [0, 1, 2, 10].map((n) => ({ name: `${n}.log`, size: n === 10 ? 20 : 190 }));
    assert.deepEqual(planDirectory(there, '10.log', LIMITS).remove, ['0.log']);
  });

  it('takes a last instance that grew beyond its size for what it is', () => {
    const there = [0, 1]
      .map((n) => ({ name: `${n}.log`, size: 90 }))
      .concat([{ name: '2.log', size: 400 }]);
    assert.deepEqual(planDirectory(there, '2.log', LIMITS).remove, ['0.log']);
  });

  it('keeps a last part that is too large while it is all there is to read', () => {
    const limits = { maxSize: 100, maxFiles: 2 };
    const grownTo = (size: number, current = 0) => [
      { name: '0.log', size: current },
      { name: '0.log.20260101-000000', size },
    ];
    assert.deepEqual(planDirectory(grownTo(200), '0.log', limits).remove, []);
    assert.equal(planDirectory(grownTo(201), '0.log', limits).remove.length, 1);
    assert.equal(planDirectory(grownTo(150, 51), '0.log', limits).remove.length, 1);
  });

  it('holds the bound and keeps the newest, whatever is there', () => {
    const name = fc
      .tuple(
        fc.nat(12),
        fc.option(fc.integer({ min: 1, max: 9 })),
        fc.constantFrom('', '.gz', '.tmp'),
      )
      .map(([n, part, end]) =>
        part === null ? `${n}.log` : `${n}.log.2026010${part}-000000${end}`,
      );
    const listing = fc.uniqueArray(fc.record({ name, size: fc.nat(300) }), {
      selector: (file) => file.name,
    });
    fc.assert(
      fc.property(listing, fc.integer({ min: 2, max: 6 }), (some, maxFiles) => {
        const limits = { maxSize: 100, maxFiles };
        const current = '13.log';
        const all = [...some, { name: current, size: 50 }];
        const { remove, compress } = planDirectory(all, current, limits);
        const left = all.filter((f) => !remove.includes(f.name));
        const others = left.filter((f) => f.name !== current);
        const sum = others.reduce((total, { size }) => total + size, 0);
        assert.ok(left.length > others.length, 'the current one stays');
        assert.ok(sum <= boundOf(limits) - (others.length > 1 ? limits.maxSize : 50));
        assert.ok(compress.every((one) => left.some((f) => f.name === one)));
        for (const n of new Set(others.map((f) => parseLogName(f.name)?.instance)))
          assert.ok(others.filter((f) => f.name.startsWith(`${n}.log.`)).length < maxFiles);
      }),
    );
  });
});

describe('names of rotated parts', () => {
  const noon = new Date(2026, 0, 2, 12, 30, 45).getTime();

  it('are local time, and a further one in a second still sorts last', () => {
    const stamps: string[] = [];
    for (let i = 0; i < 12; i++) stamps.push(nextStamp(noon, stamps));
    assert.equal(stamps[0], '20260102-123045');
    assert.equal(stamps[11], '20260102-123045-000011');
    assert.deepEqual([...stamps].sort(), stamps);
    assert.equal(nextStamp(noon + 1000, stamps), '20260102-123046');
  });

  it('sort last also when the clock went back', () => {
    const before = ['20260102-123045'];
    const next = nextStamp(0, before);
    assert.ok(next > '20260102-123045', next);
    assert.ok(nextStamp(0, [...before, next]) > next);
  });

  it('are told apart by run and age, not as text', () => {
    const names = ['10.log', '9.log', '9.log.20260102-123045.gz', '9.log.20260102-123045-000001'];
    const sorted = names.flatMap((name) => parseLogName(name) ?? []).sort(byAge);
    const expected = [
      '9.log.20260102-123045.gz',
      '9.log.20260102-123045-000001',
      '9.log',
      '10.log',
    ];
    assert.deepEqual(
      sorted.map(({ name }) => name),
      expected,
    );
  });
});

describe('when to look at a log again', () => {
  const limits = { maxSize: 10_000_000, maxFiles: 5 };
  const start = { size: 0, atMs: 0, rate: 0 };

  it('never, until it is written to, when it rests', () => {
    assert.equal(nextLookMs(grown(start, 0, 100), limits), undefined);
    assert.equal(nextLookMs(grown({ size: 5, atMs: 0, rate: 9 }, 5, 100), limits), undefined);
  });

  it('the sooner the faster it grows, but not so late that a burst would fill the disk', () => {
    const slow = grown(start, 100, 1000);
    const fast = grown(start, 5_000_000, 100);
    assert.equal(nextLookMs(slow, limits), blindMs(limits));
    assert.equal(nextLookMs(fast, limits), 0.7 * 100);
    assert.equal(nextLookMs(grown(start, 20_000_000, 100), limits), 10);
    assert.ok(blindMs({ maxSize: 1_000_000, maxFiles: 3 }) * 50_000 <= 1_000_000);
  });

  it('goes by what a log has gained, also after it was emptied', () => {
    assert.equal(grown({ size: 1000, atMs: 0, rate: 0 }, 500, 100).rate, 5);
  });
});
