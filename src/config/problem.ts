/**
 * Owns: how a fault in the configuration is told: where, which field, what was found, what is allowed.
 */
import { IsletError } from '../util/errors.ts';

export interface Problem {
  /** `FILE:LINE`, or the flag. */
  readonly where: string;
  /** Path of the field, e.g. `registerWithTaints[0].effect`; empty for a fault of the whole. */
  readonly field: string;
  readonly found: string;
  readonly expected: string;
}

/** One line, without its end. */
export function problemLine(problem: Problem): string {
  const field = problem.field === '' ? '' : `${problem.field}: `;
  return `${problem.where}: ${field}found ${problem.found}, expected ${problem.expected}`;
}

/** All problems as one error of code `invalid`; its message has one line for each. */
export function configError(problems: readonly Problem[]): IsletError {
  return new IsletError('invalid', problems.map(problemLine).join('\n'));
}

/** A value as a person would recognise it: JSON, on one line, not longer than needed. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 57)}...` : json;
}
