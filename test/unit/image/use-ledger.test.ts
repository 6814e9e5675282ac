import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { UseLedger } from '../../../src/image/use-ledger.ts';
import { ManualClock } from '../../support/clock.ts';
import { StoreFixture } from '../store/store-fixture.ts';

const DAY_MS = 24 * 3_600_000;
let f: StoreFixture;
let clock: ManualClock;

beforeEach(() => {
  f = new StoreFixture();
  f.open();
  clock = new ManualClock();
});
afterEach(() => f.end());

function ledger(): UseLedger {
  const { images: uses, imageSources: sources } = f.store;
  return new UseLedger({ uses, sources, clock });
}

/** Least recently used first. */
function order(from: UseLedger): string {
  const all = [...from.images()].sort(
    (a, b) => (from.use(a).stamp ?? 0) - (from.use(b).stamp ?? 0),
  );
  return all.join(' ');
}

describe('the order in which images were used', () => {
  it('is kept over restarts, also where the clock begins anew at each boot', async () => {
    const first = ledger();
    first.seen('a');
    await clock.advance(1000);
    first.used('b');
    f.reopen();
    clock = new ManualClock({ wall: 0 });
    const second = ledger();
    assert.equal(order(second), 'a b');
    second.seen('a');
    f.reopen();
    const third = ledger();
    assert.equal(order(third), 'b a');
    third.seen('c');
    clock.jumpWall(Date.UTC(2027, 0, 1));
    third.seen('b');
    assert.equal(order(third), 'a c b');
  });

  it('costs a write an hour for an image that is always used', async () => {
    const one = ledger();
    for (let i = 0; i < 100; i++) {
      one.seen('a');
      await clock.advance(60_000);
    }
    const written = f.store.images.lastUsed('a') ?? 0;
    assert.equal((clock.wall() - written) / 60_000, 40);
  });

  it('has nothing of an image that is gone', () => {
    const one = ledger();
    one.used('a');
    one.pulled('reg.test/a:1', 'a');
    one.forget('a');
    assert.deepEqual([...one.images()], []);
    f.reopen();
    assert.deepEqual([...ledger().images()], []);
  });
});

describe('whether an image can be had again', () => {
  const cases: [string, (l: UseLedger) => void | Promise<void>, boolean][] = [
    ['imported: no', (l) => l.used('a'), false],
    ['pulled: yes', (l) => l.pulled('reg.test/a:1', 'a'), true],
    [
      'its registry did not answer since: no',
      (l) => {
        l.pulled('reg.test/a:1', 'a');
        l.notPulled('reg.test/b:1', false);
      },
      false,
    ],
    [
      'another registry did not answer: yes',
      (l) => {
        l.pulled('reg.test/a:1', 'a');
        l.notPulled('other.test/b:1', false);
      },
      true,
    ],
    [
      'its registry answers again, with whatever: yes',
      (l) => {
        l.pulled('reg.test/a:1', 'a');
        l.notPulled('reg.test/b:1', false);
        l.notPulled('reg.test/b:1', true);
      },
      true,
    ],
    [
      'nobody has asked for eight days: no',
      async (l) => {
        l.pulled('reg.test/a:1', 'a');
        await clock.advance(8 * DAY_MS);
      },
      false,
    ],
    [
      'the clock has gone back, so that nobody knows: no',
      (l) => {
        l.pulled('reg.test/a:1', 'a');
        clock.jumpWall(-DAY_MS);
      },
      false,
    ],
  ];
  for (const [name, act, expected] of cases)
    it(name, async () => {
      await act(ledger());
      f.reopen();
      assert.equal(ledger().canBeHadAgain('a'), expected);
    });
});
