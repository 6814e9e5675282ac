/**
 * Owns: whether the node swaps.
 */
import { readFileSync } from 'node:fs';

/** Whether any swap area is in use; false where that cannot be read. */
export function swapInUse(file = '/proc/swaps'): boolean {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').length > 1;
  } catch {
    return false;
  }
}
