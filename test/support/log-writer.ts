/**
 * usage: node log-writer.js LOG BYTES_PER_SECOND SECONDS
 * What a runtime is to a log: a process of its own that appends numbered CRI lines, as fast as asked for, and
 * opens the path anew at each line on stdin, which it answers with one. It says `lines`
 * when it has written all, and ends with its stdin.
 */
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , log = '', rate = '0', seconds = '0'] = process.argv;
const SLICE_MS = 2;
/** At once. */
const MOST = 512 * 1024;
const open = (): number => fs.openSync(log, 'a', 0o640);
let fd = open();
process.stdin.on('data', () => {
  fs.closeSync(fd);
  fd = open();
  process.stdout.write('\n');
});
const head = '2026-01-01T00:00:00.000000000Z stdout F ';
const fill = '0'.repeat(150);
const started = performance.now();
let line = 0;
let written = 0;
while (performance.now() - started < Number(seconds) * 1000) {
  const wanted = ((performance.now() - started) / 1000) * Number(rate);
  const lines: string[] = [];
  const behind = wanted - written;
  for (let more = Math.min(behind, MOST); more > 0; more -= 201)
    lines.push(`${head}${String(++line).padStart(9, '0')} ${fill}\n`);
  fs.writeSync(fd, lines.join(''));
  written = wanted; // what a busy machine kept it from writing is not made up for
  await sleep(SLICE_MS);
}
process.stdout.write(`${line} lines\n`);
