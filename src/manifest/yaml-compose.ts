/**
 * Owns: YAML syntax: text → the yaml library's documents, with its own types off. Invariants: depth
 * and size are bounded before the library recurses or allocates; what the upstream's reader accepts
 * beyond the library is mended without changing the number of lines.
 */
import { CST, Composer, Lexer, Parser } from 'yaml';
import type { Document, ErrorCode } from 'yaml';
import { MAX_DEPTH, MAX_VALUES, SyntaxProblem, TOO_LARGE } from './json-tree.ts';

/** A value is about three of the lexer's units: itself, blanks, an indicator. */
const MAX_LEXEMES = 3 * MAX_VALUES;
/** Each round mends one line of a flow collection. */
const MOST_REPAIRS = 100;
/** So that a large broken file does not cost seconds: rounds times size, in both measures. */
const REPAIRED_CHARACTERS = 2 ** 20;
const REPAIRED_LEXEMES = 200_000;
/** A document costs as much as a hundred values. */
const MAX_DOCUMENTS = 1000;
/** An error costs more than a value; who reads a thousand of them? */
const MOST_ERRORS = 1000;
/** Enough to see what is wrong with a file; a wrong encoding gives thousands. */
export const MOST_PROBLEMS = 10;
const DEEP_INDENT = ' '.repeat(80);
const OPTIONS = {
  version: '1.1',
  schema: 'failsafe',
  merge: false,
  uniqueKeys: false,
  strict: true,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

/** In place of those of the library's messages that quote the text. */
const DISCREET: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: 'an alias (*) of nothing; put the text in quotes',
  BAD_DIRECTIVE: 'a directive (%) that is not known',
  BAD_DQ_ESCAPE: 'an escape sequence that is not known',
  BAD_SCALAR_START: 'a character that cannot begin a text; put the text in quotes',
  TAG_RESOLVE_FAILED: 'a tag (!) that is not known; put the text in quotes',
  UNEXPECTED_TOKEN: 'something that is not expected here; put texts in quotes',
};

export interface Composed {
  text: string;
  documents: Document.Parsed[];
  /** How many of the lexer's units the text has: what reading it costs. */
  lexemes: number;
  /** Offsets of lines on which the library gave a flow collection up. */
  brokenFlows: number[];
}

/**
 * Composes the documents. The upstream takes two things that the library does not: `\'` in double
 * quotes, and lines of a flow collection that are indented less than its key. Both are spelt anew, as
 * the library takes them, and parsed again; what is wrong for other reasons is reported as it was.
 */
export function compose(text: string): Composed | SyntaxProblem {
  const first = composeOnce(text);
  if (first instanceof SyntaxProblem) return first;
  let now = first;
  const rounds = Math.min(
    MOST_REPAIRS,
    REPAIRED_CHARACTERS / (text.length + 1),
    REPAIRED_LEXEMES / (first.lexemes + 1),
  );
  for (let round = 1; round <= rounds; round++) {
    const changes = repairs(now);
    if (changes.length === 0) break;
    const next = composeOnce(respell(now.text, changes));
    if (next instanceof SyntaxProblem) break;
    now = next;
  }
  const sound = now.documents.every(({ errors }) => errors.length === 0);
  return sound ? now : first;
}

function composeOnce(text: string): Composed | SyntaxProblem {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  const brokenFlows: number[] = [];
  let count = 0;
  let broken = 0;
  let started = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === CST.FLOW_END) brokenFlows.push(parser.offset);
    for (const token of parser.next(lexeme)) {
      tokens.push(token);
      if (token.type === 'error' && ++broken > MOST_ERRORS) {
        return notValid('UNEXPECTED_TOKEN', token.message, token.offset);
      }
      if (token.type === 'document' && ++started > MAX_DOCUMENTS) {
        return new SyntaxProblem(`more than ${MAX_DOCUMENTS} documents`, token.offset);
      }
    }
    if (parser.stack.length > MAX_DEPTH) {
      return new SyntaxProblem(`nested deeper than ${MAX_DEPTH} levels`, parser.offset);
    }
    if (++count > MAX_LEXEMES) return new SyntaxProblem(TOO_LARGE, parser.offset);
  }
  // The last document is known to be one only here.
  for (const token of parser.end()) {
    tokens.push(token);
    if (token.type === 'document' && ++started > MAX_DOCUMENTS) {
      return new SyntaxProblem(`more than ${MAX_DOCUMENTS} documents`, token.offset);
    }
  }
  try {
    const documents = [...new BoundedComposer().compose(tokens, true, text.length)];
    return { text, documents, lexemes: count, brokenFlows };
  } catch (error) {
    if (error instanceof SyntaxProblem) return error;
    throw error;
  }
}

type OnError = (source: ErrorSource, code: ErrorCode, message: string, warning?: boolean) => void;
type ErrorSource = number | [number, number] | { offset: number };

/** Gives up, with the first error, when there are too many: a broken scalar may have one a character. */
class BoundedComposer extends Composer {
  constructor() {
    super(OPTIONS);
    // The library has no public way to hear of errors before the end of a document.
    const library = this as unknown as { onError: OnError };
    const report = library.onError;
    let first: SyntaxProblem | undefined;
    let count = 0;
    library.onError = (source, code, message, warning) => {
      first ??= notValid(code, message, offsetOf(source));
      count += 1;
      if (count > MOST_ERRORS) throw first;
      report(source, code, message, warning);
    };
  }
}

function offsetOf(source: ErrorSource): number {
  if (typeof source === 'number') return source;
  return Array.isArray(source) ? source[0] : source.offset;
}

function notValid(code: ErrorCode, message: string, at: number): SyntaxProblem {
  const text = `not valid YAML: ${message.replaceAll('\n', ' ')}`;
  const discreet = DISCREET[code];
  return new SyntaxProblem(text, at, discreet === undefined ? text : `not valid YAML: ${discreet}`);
}

interface Change {
  at: number;
  remove: number;
  insert: string;
}

/** No change adds or removes a line, so that lines stay what they are in the file. */
function repairs({ text, documents, brokenFlows }: Composed): Change[] {
  const escapes = documents
    .flatMap(({ errors }) => errors)
    .filter(({ code, pos }) => code === 'BAD_DQ_ESCAPE' && text.startsWith("\\'", pos[0]))
    .map(({ pos }) => ({ at: pos[0], remove: 2, insert: '\\x27' }));
  const flows = brokenFlows
    .map((at) => text.lastIndexOf('\n', at - 1) + 1)
    .map((at) => ({ at, remove: 0, insert: DEEP_INDENT }));
  return [...escapes, ...flows];
}

function respell(text: string, changes: Change[]): string {
  let out = '';
  let from = 0;
  for (const { at, remove, insert } of changes.sort((a, b) => a.at - b.at)) {
    if (at < from) continue;
    out += text.slice(from, at) + insert;
    from = at + remove;
  }
  return out + text.slice(from);
}

/** What is wrong with a document, at most one problem a place. */
export function syntaxProblems(document: Document.Parsed): SyntaxProblem[] {
  const { yaml } = document.directives ?? {};
  if (yaml?.explicit && yaml.version !== '1.1') {
    const message = `the directive %YAML ${yaml.version} is not supported, only 1.1`;
    return [new SyntaxProblem(message, document.range[0])];
  }
  const problems = new Map<number, SyntaxProblem>();
  for (const { code, message, pos } of document.errors) {
    if (problems.size >= MOST_PROBLEMS) break;
    if (!problems.has(pos[0])) problems.set(pos[0], notValid(code, message, pos[0]));
  }
  return [...problems.values()];
}
