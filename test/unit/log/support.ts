/** Owns: container logs written by tests the way a runtime writes and an agent rotates them. */
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'islet-log-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** One CRI line; `at` is seconds after 2026-01-01T00:00:00Z. */
export function criLine(message: string, at = 0, stream = 'stdout', tag = 'F'): string {
  const time = new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString();
  return `${time} ${stream} ${tag} ${message}\n`;
}

export class LogWriter {
  readonly path: string;
  #rotations = 0;

  constructor(directory: string) {
    this.path = join(directory, '0.log');
  }

  async write(...messages: string[]): Promise<void> {
    await appendFile(this.path, messages.map((message) => criLine(message)).join(''));
  }

  /** As the agent does it: rename, then the runtime opens the path anew. Returns the rotated path. */
  async rotate(): Promise<string> {
    const to = `${this.path}.20260101-00000${this.#rotations++}`;
    await rename(this.path, to);
    await writeFile(this.path, '');
    return to;
  }
}

/** Collects what a log reader hands out, and tells when some text has come. */
export class Collected {
  #text = '';
  readonly #waiting = new Set<() => void>();

  readonly sink = (bytes: Buffer): void => {
    this.#text += bytes.toString();
    for (const look of this.#waiting) look();
  };

  get text(): string {
    return this.#text;
  }

  async has(part: string): Promise<void> {
    if (this.#text.includes(part)) return;
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!this.#text.includes(part)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
    });
  }
}
