/**
 * Owns: the tree that both JSON and YAML become before decoding: values as written, each with its
 * offset in the text. Numbers stay text, so that an integer beyond 2^53 or `1e3` is still what it was.
 * Invariant: aliases share subtrees; a tree is never changed once it is built.
 */

interface Placed {
  /** Offset in the text of the file, 0-based; lines are counted only when someone asks. */
  readonly at: number;
}

export interface ObjectEntry {
  readonly keyAt: number;
  readonly value: Tree;
}

/** A key that was given more than once; the last one counts. */
export interface Repeated {
  readonly key: string;
  readonly at: number;
}

export interface ObjectTree extends Placed {
  readonly type: 'object';
  readonly entries: ReadonlyMap<string, ObjectEntry>;
  readonly repeated: readonly Repeated[];
}

export interface ListTree extends Placed {
  readonly type: 'list';
  readonly items: readonly Tree[];
}

export interface ScalarTree extends Placed {
  readonly type: 'string' | 'number' | 'bool';
  /** The string itself, a JSON number, or `true`/`false`. */
  readonly text: string;
  /** How it stands in the file, where that differs: `yes` for true, `0644` for 420. */
  readonly written?: string;
}

export interface NullTree extends Placed {
  readonly type: 'null';
}

export type Tree = ObjectTree | ListTree | ScalarTree | NullTree;

/** One step of a field path: a field or map key, or an index into a list. */
type Step = string | number;

/** `spec.limits[cpu].x[3]` → ['spec', 'limits', 'cpu', 'x', 3]; `['a.b']` is the key a.b. */
export function pathSteps(path: string): Step[] {
  const steps: Step[] = [];
  for (const match of path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)) {
    const [, bracket, name] = match;
    if (name !== undefined) steps.push(name);
    else if (bracket !== undefined)
      steps.push(/^[0-9]+$/.test(bracket) ? Number(bracket) : bracket);
  }
  return steps;
}

/** The offset of the deepest part of `path` that the file has: of the key, or of the list item. */
export function offsetOf(tree: Tree, path: string): number {
  let here = tree;
  let at = tree.at;
  for (const step of pathSteps(path)) {
    if (here.type === 'object') {
      const entry = here.entries.get(String(step));
      if (!entry) return at;
      at = entry.keyAt;
      here = entry.value;
    } else if (here.type === 'list' && typeof step === 'number') {
      const item = here.items[step];
      if (!item) return at;
      at = item.at;
      here = item;
    } else {
      return at;
    }
  }
  return at;
}

/** Turns offsets into lines; counts the lines of the text the first time it is asked. */
export class Lines {
  readonly #text: string;
  #starts: number[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** 1-based line and column of an offset. */
  position(offset: number): { line: number; column: number } {
    this.#starts ??= lineStarts(this.#text);
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}
