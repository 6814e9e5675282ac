/**
 * Owns: reading out-of-memory kills from the lines of the kernel's log. Pure but for what it remembers of the
 * kill that is being told: the kernel tells it in several lines.
 *
 *   5.0 and later   oom-kill:constraint=…,oom_memcg=<limited>,task_memcg=<of the victim>,task=<name>,pid=<pid>,uid=<uid>
 *   before          Task in <of the victim> killed as a result of limit of <limited>
 *   all             [Memory cgroup out | Out] of memory: Killed process <pid> (<name>) …   (before: Kill process, Killed process)
 *
 * With memory.oom.group the kernel kills the whole cgroup: only the first process is reported.
 * Leaves to others: whose cgroup it is (pod/oom.ts).
 */
export interface OomKill {
  readonly pid: number;
  /** Name of the process, cut at 15 bytes by the kernel. */
  readonly process: string;
  /** Cgroup of the victim; '/' when the kernel does not tell. */
  readonly victimCgroup: string;
  /** The cgroup whose limit was reached; undefined: the node itself was out of memory. */
  readonly limitedCgroup: string | undefined;
}

type Place = Pick<OomKill, 'victimCgroup' | 'limitedCgroup'>;

const BEGIN = / invoked oom-killer: /;
const PLACE =
  /^oom-kill:constraint=(CONSTRAINT_\w+),.*?(?:,oom_memcg=(.*))?(?:,global_oom)?,task_memcg=(.*),task=(.*),pid=(\d+),uid=\d+$/;
const OLD_PLACE = /^Task in (\S+) killed as a result of limit of (\S+)$/;
const GROUP = /^Tasks in (\S+) are going to be killed due to memory\.oom\.group set/;
const KILLED =
  /^(?:Memory cgroup out of memory: |Out of memory: )?Killed process (\d+) \((.*?)\),? /;
const NOWHERE: Place = { victimCgroup: '/', limitedCgroup: undefined };

export class OomLines {
  #place: Place = NOWHERE;
  #wholeGroup = false;

  /** A message without its prefix; gives the kill once the kernel has told all of it. */
  read(message: string): OomKill | undefined {
    if (BEGIN.test(message)) this.#begin();
    const place = placeOf(message);
    if (place) this.#place = place;
    if (GROUP.test(message)) this.#wholeGroup = true;
    const [, pid, process] = KILLED.exec(`${message} `) ?? [];
    if (pid === undefined || process === undefined) return undefined;
    if (this.#wholeGroup) return undefined;
    return { pid: Number(pid), process, ...this.#place };
  }

  #begin(): void {
    this.#place = NOWHERE;
    this.#wholeGroup = false;
  }
}

function placeOf(message: string): Place | undefined {
  const [, constraint, limited, victim] = PLACE.exec(message) ?? [];
  if (constraint !== undefined && victim !== undefined) {
    const byLimit = constraint === 'CONSTRAINT_MEMCG';
    return { victimCgroup: victim, limitedCgroup: byLimit ? limited : undefined };
  }
  const [, oldVictim, oldLimited] = OLD_PLACE.exec(message) ?? [];
  if (oldVictim === undefined) return undefined;
  return { victimCgroup: oldVictim, limitedCgroup: oldLimited };
}
