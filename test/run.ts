/**
 * usage: node build/test/run.js [SUBSTRING]…
 * Runs the compiled tests: unit files two at a time, then integration and e2e files one at a time,
 * because those share the machine's network, cgroups and ports. With substrings, only files whose
 * path holds one of them. The last line is `N passed, N failed`; exit status 1 on a failure or when
 * no test ran.
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** A file that takes longer than this hangs. */
const FILE_TIMEOUT_MS = 10 * 60_000;

interface Totals {
  passed: number;
  failed: number;
  readonly skipped: string[];
}

const base = import.meta.dirname;
const filters = process.argv.slice(2);
const totals: Totals = { passed: 0, failed: 0, skipped: [] };
for (const [folder, concurrency] of [
  ['unit', 2],
  ['integration', 1],
  ['e2e', 1],
] as const)
  await runFiles(find(folder), concurrency);

for (const line of totals.skipped) console.log(`skipped: ${line}`);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);

function find(folder: string): string[] {
  const directory = path.join(base, folder);
  const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return entries
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => path.join(directory, name))
    .filter((file) => filters.length === 0 || filters.some((f) => file.includes(f)))
    .toSorted();
}

async function runFiles(files: string[], concurrency: number): Promise<void> {
  if (files.length === 0) return;
  const stream = run({ files, concurrency, timeout: FILE_TIMEOUT_MS });
  stream.on('test:pass', (event) => {
    const skip = event.skip ?? event.todo;
    if (skip !== undefined) totals.skipped.push(`${event.name}${reason(skip)}`);
    else if (!isSum(event)) totals.passed += 1;
  });
  stream.on('test:fail', (event) => {
    if (!isSum(event)) totals.failed += 1;
  });
  const report = stream.pipe(new spec());
  report.pipe(process.stdout, { end: false });
  await once(report, 'end');
}

interface TestEvent {
  readonly name: string;
  readonly details: { readonly type?: string; readonly error?: unknown };
}

/**
 * Whether a result only sums up others: a suite, a test that failed because of its subtests, and the
 * test that the runner makes of each file; that one counts when the file itself failed, e.g. when it
 * cannot be loaded.
 */
function isSum({ name, details }: TestEvent): boolean {
  const failure = (details.error as { failureType?: string } | undefined)?.failureType;
  if (details.type === 'suite' || failure === 'subtestsFailed') return true;
  return name.endsWith('.test.js') && failure === undefined;
}

function reason(value: string | boolean | undefined): string {
  return typeof value === 'string' ? `: ${value}` : '';
}
