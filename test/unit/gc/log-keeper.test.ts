import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { LogKeeper, type ContainerLog } from '../../../src/gc/log-keeper.ts';
import { byAge, parseLogName } from '../../../src/log/log-name.ts';
import { SystemClock } from '../../../src/util/clock.ts';
import { Limiter } from '../../../src/util/limiter.ts';
import { createLogger } from '../../../src/util/log.ts';
import { until } from '../../support/agent.ts';
import { temporaryDirectory } from '../log/support.ts';

const WRITER = path.resolve(import.meta.dirname, '../../support/log-writer.js');
const MIB = 1024 * 1024;

interface World {
  readonly directory: string;
  readonly logs: ContainerLog[];
  readonly reopened: string[];
  reopen: (id: string) => Promise<void>;
  readonly keeper: LogKeeper;
}

async function world(
  t: TestContext,
  limits = { maxSize: 1000, maxFiles: 3 },
  intervalMs = 60_000,
): Promise<World> {
  const directory = path.join(await temporaryDirectory(t), 'main');
  fs.mkdirSync(directory);
  const clock = new SystemClock();
  const logs: ContainerLog[] = [];
  const reopened: string[] = [];
  const made = {
    ...{ directory, logs, reopened },
    reopen: (_: string): Promise<void> => Promise.resolve(),
    keeper: new LogKeeper({
      logs: () => logs,
      reopen: async (id) => {
        reopened.push(id);
        await made.reopen(id);
      },
      ...{ limits, intervalMs, clock },
      workers: new Limiter({ slots: 1, patienceMs: 60_000, clock }),
      logger: createLogger({ sink: { write: () => undefined }, level: 'error', wall: () => 0 }),
    }),
  };
  return made;
}

function run(t: TestContext, { keeper }: World): void {
  const controller = new AbortController();
  const ended = keeper.run(controller.signal);
  t.after(async () => {
    controller.abort();
    await ended;
  });
}

function sizes(directory: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const name of fs.readdirSync(directory)) {
    const stat = fs.statSync(path.join(directory, name), { throwIfNoEntry: false });
    if (stat) found.set(name, stat.size);
  }
  return found;
}

function total(directory: string): number {
  return [...sizes(directory).values()].reduce((sum, size) => sum + size, 0);
}

/** All that is kept, oldest first. */
function kept(directory: string): string {
  const names = fs.readdirSync(directory).flatMap((name) => parseLogName(name) ?? []);
  return names
    .sort(byAge)
    .map(({ name, form }) => {
      const bytes = fs.readFileSync(path.join(directory, name));
      return (form === 'gz' ? gunzipSync(bytes) : bytes).toString();
    })
    .join('');
}

describe('the logs of a container', () => {
  it('hold their bound under a flood, end at line borders and have no gaps', async (t) => {
    const w = await world(t, { maxSize: MIB, maxFiles: 3 });
    const log = path.join(w.directory, '0.log');
    const writer = spawn(process.execPath, [WRITER, log, String(50 * MIB), '3'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => writer.kill());
    w.reopen = async () => {
      const answered = once(writer.stdout, 'data');
      writer.stdin.write('\n');
      await answered;
    };
    await until('the writer writes', () => fs.existsSync(log));
    w.logs.push({ id: 'a', path: log, running: true });
    run(t, w);
    let most = 0;
    let stall = 0;
    let ended = false;
    writer.stdout.on('data', (said: Buffer) => (ended ||= said.includes('lines')));
    for (let at = performance.now(); !ended; at = performance.now()) {
      most = Math.max(most, total(w.directory));
      await sleep(2);
      stall = Math.max(stall, performance.now() - at);
    }
    t.diagnostic(
      `most on disk: ${(most / MIB).toFixed(2)} MiB, ${w.reopened.length} rotations, stall ${stall.toFixed(0)} ms`,
    );
    assert.ok(w.reopened.length > 20, `${w.reopened.length} rotations`);
    // While the machine lets this process wait, nobody looks.
    assert.ok(
      most < 8 * MIB + (Math.max(0, stall - 50) / 1000) * 50 * MIB,
      `${most} bytes at once`,
    );
    await until('it is back within its limit', () => total(w.directory) <= 3 * MIB);
    const lines = kept(w.directory).split('\n').slice(0, -1);
    const first = Number(lines[0]?.split(' ')[3]);
    lines.forEach((line, i) => assert.equal(Number(line.split(' ')[3]), first + i, line));
  });

  it('are rotated at their size with the name of the time, and the writer goes on in a new one', async (t) => {
    const w = await world(t);
    const log = path.join(w.directory, '0.log');
    fs.writeFileSync(log, 'x'.repeat(1000), { mode: 0o640 });
    w.reopen = () => Promise.resolve(fs.writeFileSync(log, ''));
    w.logs.push({ id: 'a', path: log, running: true });
    run(t, w);
    const names = await until('it is rotated', () => {
      const all = fs.readdirSync(w.directory).sort();
      return all.length === 2 && all;
    });
    assert.match(names.join(' '), /^0\.log 0\.log\.\d{8}-\d{6}$/);
    assert.deepEqual(w.reopened, ['a']);
    fs.appendFileSync(log, 'y'.repeat(1200));
    await until('it is rotated again at the next write', () => w.reopened.length === 2);
  });

  it('are put back when the runtime does not reopen, and rotated at a later try', async (t) => {
    const w = await world(t);
    const log = path.join(w.directory, '0.log');
    fs.writeFileSync(log, 'x'.repeat(1500));
    let works = false;
    w.reopen = () => {
      if (!works) return Promise.reject(new Error('no'));
      fs.writeFileSync(log, '');
      return Promise.resolve();
    };
    w.logs.push({ id: 'a', path: log, running: true });
    run(t, w);
    await until('it was tried twice', () => w.reopened.length === 2);
    await until('it is back', () => fs.readdirSync(w.directory).join() === '0.log');
    assert.equal(fs.statSync(log).size, 1500);
    works = true;
    await until('it is rotated', () => fs.readdirSync(w.directory).length === 2);
  });

  it('lose nothing when the runtime reopens and then fails to say so', async (t) => {
    const w = await world(t);
    const log = path.join(w.directory, '0.log');
    fs.writeFileSync(log, 'old'.repeat(400));
    w.reopen = () => {
      fs.writeFileSync(log, 'new', { flag: 'a' });
      return Promise.reject(new Error('deadline'));
    };
    w.logs.push({ id: 'a', path: log, running: true });
    run(t, w);
    await until('both are there', () => fs.readdirSync(w.directory).length === 2);
    assert.equal(kept(w.directory), 'old'.repeat(400) + 'new');
  });

  it('are emptied when they fill the whole bound and cannot be rotated', async (t) => {
    const w = await world(t);
    const log = path.join(w.directory, '0.log');
    fs.writeFileSync(log, 'x'.repeat(3000));
    w.reopen = () => Promise.reject(new Error('no'));
    w.logs.push({ id: 'a', path: log, running: true });
    run(t, w);
    await until('it is empty', () => fs.statSync(log, { throwIfNoEntry: false })?.size === 0);
  });

  it('are opened again when they went missing', async (t) => {
    const w = await world(t);
    const log = path.join(w.directory, '0.log');
    w.reopen = () => Promise.resolve(fs.writeFileSync(log, ''));
    w.logs.push({ id: 'a', path: log, running: true });
    run(t, w);
    await until('it is there', () => fs.existsSync(log));
    fs.rmSync(log);
    await until('it is there again', () => w.reopened.length === 2 && fs.existsSync(log));
  });

  it('are not made anew for a container that is gone', async (t) => {
    const w = await world(t);
    const log = path.join(w.directory, '0.log');
    fs.writeFileSync(log, 'x');
    w.logs.push({ id: 'a', path: log, running: true });
    run(t, w);
    await until('it was read', () => w.keeper.watching === 1);
    w.logs[0] = { id: 'a', path: log, running: false };
    fs.rmSync(w.directory, { recursive: true });
    await until('nobody watches it', () => w.keeper.watching === 0);
    assert.deepEqual(w.reopened, []);
    assert.equal(fs.existsSync(w.directory), false);
  });

  it('are compressed where they are older, with their mode; leftovers of a crash go', async (t) => {
    const w = await world(t, { maxSize: 100_000, maxFiles: 5 });
    const old = path.join(w.directory, '0.log.20260101-000000');
    fs.writeFileSync(path.join(w.directory, '0.log'), 'c');
    fs.writeFileSync(old, 'a'.repeat(70_000));
    fs.chmodSync(old, 0o604);
    fs.writeFileSync(path.join(w.directory, '0.log.20260101-000001'), 'b');
    fs.writeFileSync(path.join(w.directory, '0.log.20260101-000001.tmp'), 'half');
    w.logs.push({ id: 'a', path: path.join(w.directory, '0.log'), running: true });
    run(t, w);
    const expected = ['0.log', '0.log.20260101-000000.gz', '0.log.20260101-000001'];
    await until(
      'only these are there',
      () => fs.readdirSync(w.directory).sort().join() === expected.join(),
    );
    assert.equal(kept(w.directory), 'a'.repeat(70_000) + 'bc');
    assert.equal(fs.statSync(`${old}.gz`).mode & 0o777, 0o604);
  });

  it('stay within one bound over the instances of a crash loop', async (t) => {
    const w = await world(t, { maxSize: 1000, maxFiles: 3 });
    run(t, w);
    const lines = (count: number): string => `${'x'.repeat(99)}\n`.repeat(count);
    for (let n = 0; n < 6; n++) {
      const log = path.join(w.directory, `${n}.log`);
      fs.writeFileSync(log, lines(n === 5 ? 60 : 9)); // the last one got away
      w.logs.push({ id: `c${n}`, path: log, running: false });
      w.keeper.poke();
    }
    await until('they are within it', () => total(w.directory) <= 3000);
    const last = fs.readFileSync(path.join(w.directory, '5.log'), 'utf8');
    assert.equal(last, lines(9), 'its last lines are kept, whole');
  });
});
