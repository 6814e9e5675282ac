/**
 * Owns: what islet thinks of each entry of the manifest directory, for `islet get manifests`, the log
 * and everyone who asks "why does my pod not change?".
 * Invariants: one verdict a file; `since` moves only when the verdict changes; a verdict is logged once
 * when it changes, never because the directory was listed again.
 */
import type { Clock } from '../util/clock.ts';
import { unreachable } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';

/**
 * - `accepted`: the content of the file is what runs.
 * - `invalid`: it has errors; `duplicate`: another file provides one of its pods.
 * - `unreadable`: it cannot be read; `waiting`: some process is still writing it.
 * - `ignored`: it is no manifest.
 */
export type VerdictState =
  'accepted' | 'invalid' | 'duplicate' | 'ignored' | 'unreadable' | 'waiting';

export interface FileVerdict {
  /** Absolute path. */
  readonly file: string;
  readonly state: VerdictState;
  /** Why, one line each, with `file:line: field:` where there is one; empty when accepted. */
  readonly messages: readonly string[];
  /** What the newest content has that islet does not know or honour. */
  readonly warnings: readonly string[];
  /** `namespace/name` of the pods that the file provides at present. */
  readonly pods: readonly string[];
  /** Whether those pods are of an earlier content than the one in the file. */
  readonly usingLastGood: boolean;
  /** Wall milliseconds since when this is the verdict. */
  readonly since: number;
}

export type Judgement = Omit<FileVerdict, 'since'>;

export interface VerdictBookDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class VerdictBook {
  readonly #deps: VerdictBookDeps;
  #verdicts = new Map<string, FileVerdict>();

  constructor(deps: VerdictBookDeps) {
    this.#deps = deps;
  }

  /** In the order of the last `replace`. */
  all(): FileVerdict[] {
    return [...this.#verdicts.values()];
  }

  get(file: string): FileVerdict | undefined {
    return this.#verdicts.get(file);
  }

  /** The full set of a look at the directory; logs and returns what changed. */
  replace(judgements: readonly Judgement[]): FileVerdict[] {
    const next = new Map<string, FileVerdict>();
    const changed: FileVerdict[] = [];
    for (const judgement of judgements) {
      const old = this.#verdicts.get(judgement.file);
      if (old && sameVerdict(old, judgement)) {
        next.set(old.file, old);
        continue;
      }
      const verdict = { ...judgement, since: this.#deps.clock.wall() };
      next.set(verdict.file, verdict);
      changed.push(verdict);
      this.#log(verdict);
    }
    for (const old of this.#verdicts.values()) {
      if (!next.has(old.file) && old.state !== 'ignored') {
        this.#deps.logger.info('manifest removed', { file: old.file, pods: list(old.pods) });
      }
    }
    this.#verdicts = next;
    return changed;
  }

  #log(verdict: FileVerdict): void {
    const { logger } = this.#deps;
    const fields = {
      file: verdict.file,
      pods: list(verdict.pods),
      why: list(verdict.messages),
      warnings: list(verdict.warnings),
    };
    const kept = verdict.usingLastGood ? '; its last good content stays' : '';
    switch (verdict.state) {
      case 'accepted':
        if (verdict.warnings.length > 0) logger.warn('manifest accepted with warnings', fields);
        else logger.info('manifest accepted', fields);
        return;
      case 'invalid':
      case 'duplicate':
      case 'unreadable':
        logger.warn(`manifest ${verdict.state}${kept}`, fields);
        return;
      case 'waiting':
      case 'ignored':
        // Every editor leaves such files for a moment.
        logger.debug(`manifest ${verdict.state}`, fields);
        return;
      default:
        unreachable(verdict.state);
    }
  }
}

function sameVerdict(a: Judgement, b: Judgement): boolean {
  return (
    a.state === b.state &&
    a.usingLastGood === b.usingLastGood &&
    sameTexts(a.messages, b.messages) &&
    sameTexts(a.warnings, b.warnings) &&
    sameTexts(a.pods, b.pods)
  );
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}

/** Undefined for an empty list, so that the log line leaves it out. */
function list(texts: readonly string[]): readonly string[] | undefined {
  return texts.length > 0 ? texts : undefined;
}
