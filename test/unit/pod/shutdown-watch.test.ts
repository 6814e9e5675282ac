import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { announcementIn, systemLogind } from '../../../src/pod/logind.ts';
import { ShutdownWatch } from '../../../src/pod/shutdown-watch.ts';
import type { Logind } from '../../../src/pod/shutdown-watch.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock, settle } from '../../support/clock.ts';

/** A logind that does what a test says. */
class FakeLogind implements Logind {
  delay = 30_000;
  raised: number | undefined;
  takesRaise = true;
  held = 0;
  announce: (begins: boolean) => void = () => undefined;
  disconnect: () => void = () => undefined;

  delayMs(): Promise<number> {
    return Promise.resolve(this.delay);
  }

  raiseDelay(ms: number): Promise<void> {
    this.raised = ms;
    if (this.takesRaise) this.delay = ms;
    return Promise.resolve();
  }

  inhibit(): () => void {
    this.held += 1;
    return () => void (this.held -= 1);
  }

  watch(onSignal: (begins: boolean) => void, signal: AbortSignal): Promise<void> {
    this.announce = onSignal;
    return new Promise((resolve, reject) => {
      this.disconnect = resolve;
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    });
  }
}

function worldOf(logind: Logind) {
  const clock = new ManualClock();
  const said: string[] = [];
  const calls: string[] = [];
  let stopped: () => void = () => undefined;
  const watch = new ShutdownWatch({
    logind,
    totalMs: 30_000,
    shutdown: {
      begin: () => {
        calls.push('begin');
        return new Promise<void>((resolve) => (stopped = resolve));
      },
      cancel: () => void calls.push('cancel'),
    },
    clock,
    logger: createLogger({
      sink: { write: (line: string) => Boolean(said.push(line)) },
      level: 'info',
      wall: () => 0,
    }),
  });
  const stop = new AbortController();
  const running = watch.run(stop.signal).catch(() => undefined);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, said, calls, running, end, podsStopped: () => stopped() };
}

test('the inhibitor is held until the pods have stopped, and taken again when it was called off', async () => {
  const logind = new FakeLogind();
  const w = worldOf(logind);
  await settle();
  assert.equal(logind.held, 1);
  logind.announce(true);
  await settle();
  assert.deepEqual([w.calls, logind.held], [['begin'], 1]);
  w.podsStopped();
  await settle();
  assert.equal(logind.held, 0, 'now the node may go');
  logind.announce(false);
  assert.deepEqual([w.calls, logind.held], [['begin', 'cancel'], 1]);
  logind.disconnect();
  await settle();
  await w.clock.advance(1000);
  logind.announce(true);
  assert.equal(w.calls.at(-1), 'begin', 'a lost connection is made again');
  await w.end();
  assert.equal(logind.held, 0);
  assert.deepEqual(w.said, []);
});

test('a logind that waits too short is made to wait; one that will not is one line, and no shutdown', async () => {
  const logind = new FakeLogind();
  logind.delay = 5000;
  const w = worldOf(logind);
  await settle();
  await w.clock.advance(100);
  assert.deepEqual([logind.raised, logind.held], [30_000, 1]);
  await w.end();

  const stubborn = new FakeLogind();
  Object.assign(stubborn, { delay: 5000, takesRaise: false });
  const other = worldOf(stubborn);
  await settle();
  for (let i = 0; i < 5; i += 1) await other.clock.advance(2000);
  await other.running;
  assert.equal(stubborn.held, 0);
  assert.equal(other.said.length, 1);
  assert.match(other.said[0] ?? '', /no graceful shutdown: logind waits for a shorter time/);
});

test('messages of the bus', () => {
  const of = (member: string, data: unknown[]) =>
    JSON.stringify({ type: 'signal', member, payload: { type: 'b', data } });
  assert.equal(announcementIn(of('PrepareForShutdown', [true])), true);
  assert.equal(announcementIn(of('PrepareForShutdown', [false])), false);
  assert.equal(announcementIn(of('PrepareForSleep', [true])), undefined);
  assert.equal(announcementIn('Monitoring bus message stream.'), undefined);
});

test('the real processes, against programs that speak as systemd’s do', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-logind-'));
  after(() => fs.rmSync(dir, { recursive: true }));
  const at = (name: string) => path.join(dir, name);
  const script = (name: string, text: string) =>
    fs.writeFileSync(at(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  script(
    'busctl',
    `echo "$@" >> ${at('calls')}
case "$1" in
get-property) echo "t 5000000" ;;
--json=short)
  echo '{"type":"signal","member":"NameAcquired","payload":{"type":"s","data":[":1.2"]}}'
  echo '{"type":"signal","member":"PrepareForShutdown","payload":{"type":"b","data":[true]}}'
  ;;
esac`,
  );
  script('inhibit', `echo "$@" > ${at('held')}; cat; rm ${at('held')}; echo > ${at('given-back')}`);
  const logind = systemLogind({ busctl: at('busctl'), inhibit: at('inhibit'), configDir: at('d') });
  const never = new AbortController().signal;
  assert.equal(await logind.delayMs(never), 5000);
  await logind.raiseDelay(30_500, never);
  assert.equal(
    fs.readFileSync(at('d/99-kubelet.conf'), 'utf8'),
    '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=31\n',
  );
  const heard: boolean[] = [];
  await logind.watch((begins) => heard.push(begins), never);
  assert.deepEqual(heard, [true]);
  const calls = fs.readFileSync(at('calls'), 'utf8');
  assert.match(calls, /Manager InhibitDelayMaxUSec$/m);
  assert.match(calls, /KillUnit ssi systemd-logind.service all 1$/m);
  const there = async (name: string) => {
    const changes = fs.promises.watch(dir)[Symbol.asyncIterator]();
    while (!fs.existsSync(at(name))) await changes.next();
    await changes.return?.();
  };
  const release = logind.inhibit();
  await there('held');
  release();
  await there('given-back');
  assert.equal(fs.existsSync(at('held')), false);
});

test('without systemd there is one line, and no shutdown', async () => {
  const missing = { busctl: '/nowhere/busctl', inhibit: '/nowhere/inhibit', configDir: '/nowhere' };
  const w = worldOf(systemLogind(missing));
  await w.running;
  assert.equal(w.said.length, 1);
  assert.match(w.said[0] ?? '', /no graceful shutdown: logind cannot be asked/);
});
