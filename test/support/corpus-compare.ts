/**
 * usage: node build/test/support/corpus-compare.js decode|cri [--agent COMMAND]
 * Runs the comparison of ../shared/corpus and expects exactly the differences that are listed, with their
 * reasons, in corpus-deviations.ts: one that is not listed fails, and so does a listed one that is gone. The
 * last line is `N passed, N failed`; a listed difference counts as neither.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { DEVIATIONS } from './corpus-deviations.ts';
import type { Deviation } from './corpus-deviations.ts';

const MODES = ['decode', 'cri'] as const;
const root = path.resolve(import.meta.dirname, '../../..');
const script = path.join(root, '../shared/corpus/compare.mjs');

process.exitCode = main(process.argv.slice(2));

function main(argv: readonly string[]): number {
  const mode = MODES.find((name) => name === argv[0]);
  if (!mode) {
    console.error('usage: corpus-compare.js decode|cri [--agent COMMAND]');
    return 2;
  }
  if (!existsSync(script)) {
    console.log(`the comparison is skipped: ${path.relative(root, script)} is not there`);
    console.log('0 passed, 0 failed');
    return 0;
  }
  const agent = argv[1] === '--agent' ? (argv[2] ?? '') : 'build/src/main.js';
  const { stdout } = spawnSync(
    process.execPath,
    [script, mode, '--agent', agent, '--show', '1000'],
    { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 64 << 20 },
  );
  return judge(stdout, DEVIATIONS[mode]);
}

/** `report` has the name of each file that differs on a line, its differences indented below it. */
function judge(report: string, listed: Readonly<Record<string, Deviation>>): number {
  const sums = /^(\d+) passed, (\d+) failed$/m.exec(report);
  const blocks = report.split(/^(?=\S)/m).filter((block) => /^\d{3}-\S+\n /.test(block));
  if (!sums || blocks.length !== Number(sums[2])) {
    console.log(report);
    console.log('the comparison did not come to an end\n0 passed, 1 failed');
    return 1;
  }
  const differing = new Map(blocks.map((block) => [block.slice(0, 3), block]));
  const unexpected = [...differing].filter(([number, block]) => !explains(listed[number], block));
  const gone = Object.keys(listed).filter((number) => !differing.has(number));
  for (const [number, { why }] of Object.entries(listed).sort()) {
    if (differing.has(number)) console.log(`${number} differs on purpose: ${why}`);
  }
  for (const [, block] of unexpected) console.log(block.trimEnd());
  for (const number of gone) {
    console.log(`${number} is listed as differing and does not: take it off the list`);
  }
  const failed = unexpected.length + gone.length;
  console.log(`${sums[1]} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

function explains(deviation: Deviation | undefined, block: string): boolean {
  const [, ...lines] = block.trimEnd().split('\n');
  return deviation !== undefined && lines.every((line) => deviation.line.test(line.trim()));
}
