/**
 * Owns: how the kernel has to be set for pods (spec config.md §4): it gives out memory that is asked for and
 * kills when there is none, the agent after everybody else, and a node that has crashed starts again.
 * Leaves to others: saying what could not be set.
 */
import fs from 'node:fs';
import path from 'node:path';
import { IsletError } from '../util/errors.ts';

const TUNABLES: readonly (readonly [name: string, value: number])[] = [
  ['vm.overcommit_memory', 1],
  ['vm.panic_on_oom', 0],
  ['kernel.panic', 10],
  ['kernel.panic_on_oops', 1],
  ['kernel.keys.root_maxkeys', 1_000_000],
  ['kernel.keys.root_maxbytes', 25_000_000],
];

/**
 * Sets what is not as it should be. Gives the names that the kernel does not let us set, as in a container; what
 * it does not have is no fault.
 * @throws IsletError `invalid` with `protect`, when something would have to be set.
 */
export function tuneKernel({
  protect,
  proc = '/proc',
}: {
  protect: boolean;
  proc?: string;
}): string[] {
  const wrong = TUNABLES.flatMap(([name, wanted]) => {
    const file = path.join(proc, 'sys', ...name.split('.'));
    const found = read(file);
    return found === undefined || found === wanted ? [] : [{ name, wanted, file, found }];
  });
  if (protect && wrong.length > 0) {
    const list = wrong.map((w) => `${w.name} is ${w.found}, expected ${w.wanted}`).join('; ');
    const text = `protectKernelDefaults is true and the kernel is set otherwise: ${list}`;
    throw new IsletError('invalid', text);
  }
  return wrong.filter(({ file, wanted }) => !write(file, wanted)).map(({ name }) => name);
}

/**
 * Makes the kernel choose this process, and a containerd that it starts, late when memory has run out; the
 * runtime gives containers scores of their own. False where the kernel does not let us, as in a container.
 */
export function protectSelf(score: number, file = '/proc/self/oom_score_adj'): boolean {
  return read(file) === score || write(file, score);
}

function read(file: string): number | undefined {
  try {
    return Number(fs.readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function write(file: string, value: number): boolean {
  try {
    fs.writeFileSync(file, String(value));
    return true;
  } catch {
    return false;
  }
}
