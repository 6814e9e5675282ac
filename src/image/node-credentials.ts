/**
 * Owns: the node's own logins: the first of Docker's configuration files that can be read, in the
 * kubelet's order (spec: gc-logs-images.md §5.1).
 * Unlike the kubelet, which keeps what it has read for five minutes: files are read again when one of
 * them has changed, so that a new password counts at the next pull.
 * Invariant: a file that is broken gets one line in the log for each change of it, and the next one counts.
 */
import fs from 'node:fs';
import path from 'node:path';
import { messageOf } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { parseDockerConfig } from './docker-config.ts';
import type { DockerConfigForm } from './docker-config.ts';
import { Keyring } from './keyring.ts';
import type { Login } from './keyring.ts';

export interface NodeCredentialsDeps {
  readonly rootDir: string;
  /** Working directory and home of the agent. */
  readonly cwd: string;
  readonly home: string | undefined;
  readonly logger: Logger;
}

interface Candidate {
  readonly file: string;
  readonly form: DockerConfigForm;
}

export class NodeCredentials {
  readonly #candidates: readonly Candidate[];
  readonly #logger: Logger;
  #keyring = new Keyring();
  /** What the files looked like when the keyring was made. */
  #seen: string | undefined;

  constructor(deps: NodeCredentialsDeps) {
    this.#candidates = candidates(deps);
    this.#logger = deps.logger;
  }

  /** `repository`: full, as `repositoryOf` gives it. */
  lookup(repository: string): readonly Login[] {
    const seen = this.#candidates.map(({ file }) => fingerprint(file)).join();
    if (seen !== this.#seen) {
      this.#keyring = this.#read();
      this.#seen = seen;
    }
    return this.#keyring.lookup(repository);
  }

  #read(): Keyring {
    const keyring = new Keyring();
    for (const { file, form } of this.#candidates) {
      let text: string;
      try {
        text = fs.readFileSync(file, 'utf8');
      } catch (error) {
        if (isMissing(error)) continue;
        this.#skip(file, error);
        continue;
      }
      try {
        for (const { key, login } of parseDockerConfig(text, form)) keyring.add(key, login);
        return keyring;
      } catch (error) {
        this.#skip(file, error);
      }
    }
    return keyring;
  }

  #skip(file: string, error: unknown): void {
    const message = 'registry credentials of this file are not used';
    this.#logger.warn(message, { file, reason: messageOf(error) });
  }
}

function candidates({ rootDir, cwd, home }: NodeCredentialsDeps): Candidate[] {
  const homes = home === undefined || home === '' ? [] : [home];
  const newer = [rootDir, cwd, ...homes.map((dir) => path.join(dir, '.docker')), '/.docker'];
  const older = [rootDir, cwd, ...homes, '/'];
  return [
    ...newer.map((dir): Candidate => ({
      file: path.join(dir, 'config.json'),
      form: 'config.json',
    })),
    ...older.map((dir): Candidate => ({ file: path.join(dir, '.dockercfg'), form: '.dockercfg' })),
  ];
}

function fingerprint(file: string): string {
  try {
    const stat = fs.statSync(file, { bigint: true });
    return `${stat.ino}.${stat.size}.${stat.mtimeNs}.${stat.ctimeNs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
