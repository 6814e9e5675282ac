/**
 * Owns: lengths of time as kubectl shows them (`90s`, `5m30s`, `3h`, `2d4h`) and as Go writes them
 * (`1h30m`), which is what `--since` takes.
 */
import { IsletError } from '../util/errors.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Two units while the smaller one still says something, one after that; never longer than `99d23h`. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND);
  // Clocks of two parties may differ a little.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (ms < 2 * MINUTE) return `${seconds}s`;
  if (ms < 10 * MINUTE) return two(ms, MINUTE, 'm', SECOND, 's');
  if (ms < 3 * HOUR) return `${Math.trunc(ms / MINUTE)}m`;
  if (ms < 8 * HOUR) return two(ms, HOUR, 'h', MINUTE, 'm');
  if (ms < 2 * DAY) return `${Math.trunc(ms / HOUR)}h`;
  if (ms < 8 * DAY) return two(ms, DAY, 'd', HOUR, 'h');
  if (ms < 2 * 365 * DAY) return `${Math.trunc(ms / DAY)}d`;
  if (ms < 8 * 365 * DAY) return two(ms, 365 * DAY, 'y', DAY, 'd');
  return `${Math.trunc(ms / (365 * DAY))}y`;
}

function two(ms: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.trunc((ms % big) / small);
  return `${Math.trunc(ms / big)}${bigName}${rest === 0 ? '' : `${rest}${smallName}`}`;
}

/** `<unknown>` for a time that is not there, as kubectl has it. */
export function ageOf(time: string | null | undefined, wallMs: number): string {
  const then = time ? Date.parse(time) : Number.NaN;
  return Number.isNaN(then) ? '<unknown>' : humanDuration(wallMs - then);
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: SECOND,
  m: MINUTE,
  h: HOUR,
};

/** Milliseconds of a duration such as `90s` or `1h30m`. Throws IsletError `invalid`. */
export function parseDuration(flag: string, text: string): number {
  const part = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/gy;
  let ms = 0;
  let end = 0;
  for (let match = part.exec(text); match; match = part.exec(text)) {
    ms += Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0);
    end = part.lastIndex;
  }
  if (text === '' || end !== text.length) {
    throw new IsletError(
      'invalid',
      `error: ${flag}: ${JSON.stringify(text)} is not a duration such as 30s, 5m or 1h30m`,
    );
  }
  return ms;
}
