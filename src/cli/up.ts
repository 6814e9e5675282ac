/**
 * Owns: what `islet up` shows while the pods of a directory come up: on a terminal one table, painted
 * over in place; elsewhere one line for each change.
 * Leaves to others: running the agent.
 */
import type { Pod } from '../api/pod.ts';
import type { FileView } from '../server/view.ts';
import { painter } from './colour.ts';
import { troubleLines } from './get.ts';
import type { CliIo } from './io.ts';
import { podSummary } from './pod-summary.ts';
import { byName, podTableLines, severalNamespaces } from './pod-table.ts';

export interface Snapshot {
  readonly pods: readonly Pod[];
  readonly files: readonly FileView[];
}

const REPAINT_MS = 500;

/**
 * Shows the pods until each is Ready or has succeeded. Resolves true then, and false when the signal
 * of `io` aborts before. Nothing to run at all counts as not yet ready.
 */
export async function showUntilReady(snapshot: () => Snapshot, io: CliIo): Promise<boolean> {
  const board = new PodBoard(io);
  while (!io.signal.aborted) {
    const now = snapshot();
    board.show(now);
    if (allReady(now)) return true;
    await io.clock.sleep(REPAINT_MS, io.signal).catch(() => undefined);
  }
  return false;
}

export function allReady({ pods, files }: Snapshot): boolean {
  if (files.some((file) => file.state === 'waiting')) return false;
  return pods.length > 0 && pods.every(isReady);
}

function isReady(pod: Pod): boolean {
  if (pod.status.phase === 'Succeeded') return true;
  return (pod.status.conditions ?? []).some((c) => c.type === 'Ready' && c.status === 'True');
}

export class PodBoard {
  readonly #io: CliIo;
  /** Lines of the last painting, which the next one covers. */
  #painted = 0;
  readonly #said = new Map<string, string>();

  constructor(io: CliIo) {
    this.#io = io;
  }

  show(now: Snapshot): void {
    if (this.#io.stdout.isTTY) this.#paint(now);
    else this.#sayChanges(now);
  }

  #paint({ pods, files }: Snapshot): void {
    const { stdout, env, clock } = this.#io;
    // A serial console knows no size and says 0.
    const columns = stdout.columns || 80;
    // One row stays free for the cursor: what scrolls out of the screen cannot be painted over.
    const room = Math.max(3, (stdout.rows || 24) - 1);
    const table = podTableLines([...pods].sort(byName), {
      paint: painter(stdout, env),
      wallMs: clock.wall(),
      namespaceColumn: severalNamespaces(pods),
      columns,
    });
    const lines = [...table, ...troubleLines(files).map((line) => line.slice(0, columns))];
    const shown =
      lines.length <= room
        ? lines
        : [...lines.slice(0, room - 1), `… and ${lines.length - room + 1} more lines`];
    const home = this.#painted > 0 ? `\x1b[${this.#painted}A\x1b[J` : '';
    stdout.write(`${home}${shown.join('\n')}\n`);
    this.#painted = shown.length;
  }

  #sayChanges({ pods, files }: Snapshot): void {
    const lines = new Map<string, string>();
    for (const pod of [...pods].sort(byName)) {
      const { namespace, name } = pod.metadata;
      const { status, ready, total } = podSummary(pod);
      lines.set(
        `${namespace}/${name}`,
        `pod ${namespace}/${name}: ${status}, ready ${ready}/${total}`,
      );
    }
    for (const line of troubleLines(files)) lines.set(line, line);
    for (const [key, line] of lines) {
      if (this.#said.get(key) === line) continue;
      this.#said.set(key, line);
      this.#io.stdout.write(`${line}\n`);
    }
  }
}
