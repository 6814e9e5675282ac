/**
 * A container that writes as fast as it can: what its pod has on the disk stays bounded all the time, and
 * what is kept has no gaps; a follower goes on over rotations.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { byAge, parseLogName } from '../../src/log/log-name.ts';
import { ISLET, makeAgent, NODE_NAME, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { startContainerd } from '../support/containerd.ts';
import type { TestContainerd } from '../support/containerd.ts';
import { manifest, running, shell } from './manifest.ts';

const MIB = 1024 * 1024;
const FLOOD_S = 10;
/** Some 15 MB/s in a steady stream: on a busy machine, too, the runtime and the agent keep up with that. */
const FLOOD =
  `BEGIN { end = systime() + ${FLOOD_S}; while (systime() < end) { ` +
  'for (i = 0; i < 1000; i++) printf("%09d %0190d\\n", ++n, 0); fflush(); system("usleep 10000") } }';

let containerd: TestContainerd;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd();
  const kubelet = { containerLogMaxSize: '1Mi', containerLogMaxFiles: 3 };
  agent = await makeAgent({ socket: containerd.socket, kubelet });
  await agent.start();
});

after(async () => {
  await agent?.dispose();
  await containerd?.stop();
});

function logsOf(uid: string): string {
  const name = fs.readdirSync(agent.podLogs).find((one) => one.endsWith(`_${uid}`)) ?? '';
  return path.join(agent.podLogs, name, 'main');
}

function onDisk(directory: string): number {
  const sizes = fs.readdirSync(directory).map((name) => {
    const stat = fs.statSync(path.join(directory, name), { throwIfNoEntry: false });
    return (stat?.blocks ?? 0) * 512;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

function keptLines(directory: string): string[] {
  const files = fs.readdirSync(directory).flatMap((name) => parseLogName(name) ?? []);
  const texts = files.sort(byAge).map(({ name, form }) => {
    const bytes = fs.readFileSync(path.join(directory, name));
    const text = (form === 'gz' ? gunzipSync(bytes) : bytes).toString();
    assert.ok(text === '' || text.endsWith('\n'), `${name} ends within a line`);
    return text;
  });
  return wholeLines(texts.join('').split('\n').slice(0, -1));
}

/** What was written, line by line: the runtime cuts a line in two where its buffer ends. */
function wholeLines(records: readonly string[]): string[] {
  const lines: string[] = [];
  let part = '';
  for (const record of records) {
    const [, , tag, ...content] = record.split(' ');
    part += content.join(' ');
    if (tag === 'P') continue;
    lines.push(part);
    part = '';
  }
  return lines;
}

test('a log flood stays within its bound and leaves a whole window', async (t) => {
  const script = `awk '${FLOOD}'; echo end; sleep 1000`;
  agent.apply('flood.yaml', manifest('flood', shell(script)));
  const pod = await running(agent, 'flood');
  const directory = logsOf(pod.metadata.uid);

  let most = 0;
  let stall = 0;
  for (
    const deadline = Date.now() + 3 * FLOOD_S * 1000;
    Date.now() < deadline && !hasEnded(directory);
  ) {
    for (let i = 0; i < 20; i++) {
      const at = performance.now();
      most = Math.max(most, onDisk(directory));
      await sleep(5);
      stall = Math.max(stall, performance.now() - at);
    }
  }
  let listing = '';
  await until('it is back within its limit, and rests', () => {
    const before = listing;
    listing = fs.readdirSync(directory).sort().join();
    return onDisk(directory) <= 4 * MIB && listing === before;
  });
  const lines = keptLines(directory);
  assert.equal(lines.pop(), 'end');
  const numbers = lines.map((line) => Number(line.slice(0, 9)));
  const written = (numbers.at(-1) ?? 0) * 241;
  t.diagnostic(
    `most on disk ${(most / MIB).toFixed(2)} MiB; ${(written / MIB / FLOOD_S).toFixed(0)} MiB/s; stall ${stall.toFixed(0)} ms`,
  );
  assert.ok(written > 20 * MIB, `only ${written} bytes were written`);
  // While a busy machine lets processes wait, nobody looks.
  const missed = (Math.max(0, stall - 50) / 1000) * (written / FLOOD_S);
  assert.ok(most < 8 * MIB + missed, `${most} bytes at once`);
  assert.ok(numbers.length > 2000);
  // Around a rotation the runtime itself writes a few lines to the old file after the first of the new one.
  const sorted = numbers.sort((a, b) => a - b).slice(1000);
  const gap = sorted.findIndex((number, i) => number !== (sorted[0] ?? 0) + i);
  assert.ok(gap < 0, `a gap after ${sorted[gap - 1]}: ${sorted[gap]}`);

  agent.remove('flood.yaml');
});

test('a follower goes on over the rotations and neither cuts nor repeats a line', async (t) => {
  const burst =
    '{ for (i = 0; i < 3000; i++) printf("%09d %0190d\\n", ++n, 0); fflush(); system("sleep 0.1") }';
  const script = `seq 60 | awk '${burst}'; echo end; sleep 1000`;
  agent.apply('follow.yaml', manifest('follow', shell(script)));
  const pod = await running(agent, 'follow');
  const directory = logsOf(pod.metadata.uid);
  const output = path.join(agent.dir, 'followed');
  const fd = fs.openSync(output, 'w');
  const args = ['logs', '-f', `follow-${NODE_NAME}`, '--root-dir', agent.root];
  const follower = spawn(ISLET, args, { stdio: ['ignore', fd, 'inherit'] });
  const exit = once(follower, 'exit');
  fs.closeSync(fd);
  await until(
    'the end is seen',
    () => fs.readFileSync(output).subarray(-5).toString() === '\nend\n',
  );
  assert.ok(fs.readdirSync(directory).length > 1, 'it was rotated');
  agent.remove('follow.yaml');
  assert.deepEqual(await exit, [0, null]);
  const seen = fs.readFileSync(output, 'utf8').split('\n').slice(0, -2);
  let before = 0;
  for (const line of seen) {
    assert.match(line, /^\d{9} 0{190}$/, 'a line was cut');
    assert.ok(Number(line.slice(0, 9)) > before, `line ${line.slice(0, 9)} after ${before}`);
    before = Number(line.slice(0, 9));
  }
  assert.equal(before, 60 * 3000);
  t.diagnostic(`it saw ${seen.length} of ${before} lines`);
});

/** Whether the last line is written, wherever the rotations have put it. */
function hasEnded(directory: string): boolean {
  return fs.readdirSync(directory).some((name) => {
    try {
      return /^\S+ stdout F end$/m.test(
        fs.readFileSync(path.join(directory, name), 'latin1').slice(-100),
      );
    } catch {
      return false; // rotated just now
    }
  });
}
