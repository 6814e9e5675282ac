/**
 * Owns: following the kernel's log. /dev/kmsg gives one record a read and never ends; it is opened so that a
 * read does not wait, because one that waits would hold a thread of the process for ever.
 * Invariants: what was there before is not told; a flood of lines is read in portions.
 */
import fs from 'node:fs';

/** Longer than any record. */
const RECORD_BYTES = 8192 + 1024;
const MOST_AT_ONCE = 10_000;

export class KernelLog {
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(RECORD_BYTES);

  /** @throws the system's error when it cannot be opened or read. */
  constructor(file = '/dev/kmsg') {
    this.#fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    while (this.read().length === MOST_AT_ONCE);
  }

  /** New messages, without their prefixes. @throws the system's error. */
  read(): string[] {
    const messages: string[] = [];
    while (messages.length < MOST_AT_ONCE) {
      const record = this.#record();
      if (record === undefined) break;
      // `<priority>,<sequence>,<time>,<flags>;<message>\n` and then continuation lines.
      const [, message] = /^[^;]*;([^\n]*)/.exec(record) ?? [];
      if (message !== undefined) messages.push(message);
    }
    return messages;
  }

  close(): void {
    fs.closeSync(this.#fd);
  }

  #record(): string | undefined {
    for (;;) {
      try {
        const length = fs.readSync(this.#fd, this.#buffer);
        return length === 0 ? undefined : this.#buffer.toString('utf8', 0, length);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EAGAIN') return undefined;
        // The kernel has overwritten the next record meanwhile; the one after it is there.
        if (code !== 'EPIPE') throw error;
      }
    }
  }
}
