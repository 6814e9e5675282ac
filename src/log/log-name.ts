/**
 * Owns: the names in a container's log directory, which tell instance and age:
 *
 *   N.log                          the log of the container's Nth run, being written or complete
 *   N.log.YYYYMMDD-HHMMSS          an older part of it, by local time (spec: gc-logs-images.md §3.1)
 *   N.log.YYYYMMDD-HHMMSS-000001   a further one of the same second
 *   …gz, …tmp                      compressed, being compressed
 *
 * Invariant: a new name sorts after those that are there, whatever the clock does: readers and the
 * deletion of the oldest go by it. Unlike the kubelet, which has a name a second and would overwrite.
 */
export interface LogName {
  readonly name: string;
  /** Restart count of the run. */
  readonly instance: number;
  /** undefined: `N.log` itself. */
  readonly stamp: string | undefined;
  readonly form: 'plain' | 'gz' | 'tmp';
}

const NAME = /^(\d{1,9})\.log(?:\.(\d.*?))?(\.gz|\.tmp)?$/;
const SAME_SECOND = /^(.*\d-\d+)-(\d{6})$/;
const FORMS = { '.gz': 'gz', '.tmp': 'tmp' } as const;

/** undefined for a name that is no log's. */
export function parseLogName(name: string): LogName | undefined {
  const [, instance, stamp, ending] = NAME.exec(name) ?? [];
  if (instance === undefined) return undefined;
  const form = ending ? FORMS[ending as keyof typeof FORMS] : 'plain';
  if (stamp === undefined && form !== 'plain') return undefined;
  return { name, instance: Number(instance), stamp, form };
}

/** Oldest first: by run, and within one its older parts before `N.log`. */
export function byAge(a: LogName, b: LogName): number {
  if (a.instance !== b.instance) return a.instance - b.instance;
  if (a.stamp === b.stamp) return 0;
  if (a.stamp === undefined) return 1;
  if (b.stamp === undefined) return -1;
  return a.stamp < b.stamp ? -1 : 1;
}

/** For a part that is rotated away now; `existing` are the stamps of the same run. */
export function nextStamp(wallMs: number, existing: readonly string[]): string {
  const stamp = localStamp(new Date(wallMs));
  const newest = existing.reduce((a, b) => (a > b ? a : b), '');
  if (stamp > newest) return stamp;
  const [, second = newest, count = '0'] = SAME_SECOND.exec(newest) ?? [];
  return `${second}-${String(Number(count) + 1).padStart(6, '0')}`;
}

function localStamp(date: Date): string {
  const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0');
  const day = pad(date.getFullYear(), 4) + pad(date.getMonth() + 1) + pad(date.getDate());
  return `${day}-${pad(date.getHours())}${pad(date.getMinutes())}${pad(date.getSeconds())}`;
}
