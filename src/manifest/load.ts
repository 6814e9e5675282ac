/**
 * Owns: the way from the bytes of a manifest file to its verdict: parse, decode, defaults, identity,
 * validation, API references; every problem with its line.
 * Invariants: never throws; one error anywhere and the file has no documents that count.
 * Unlike the kubelet: all documents of a file are read, and ConfigMaps and Secrets among them.
 */
import type { Pod } from '../api/pod.ts';
import { podFullName } from '../api/pod.ts';
import { Annotation } from '../api/reasons.ts';
import { messageOf } from '../util/errors.ts';
import { decode } from './decode.ts';
import { setDefaults } from './defaults.ts';
import { describe, describeType, quoted, similar } from './describe.ts';
import { setIdentity } from './identity.ts';
import type {
  ConfigMapObject,
  LoadedDocument,
  LoadedFile,
  LoadOptions,
  Problem,
  SecretObject,
  Stage,
} from './model.ts';
import { mayHoldSecret, parseManifest } from './parse.ts';
import { pastLifeWarnings } from './past-life.ts';
import { apiReferences } from './references.ts';
import { configMapSchema, podSchema, secretSchema } from './schema-pod.ts';
import { offsetOf } from './tree.ts';
import type { Lines, ObjectTree, Tree } from './tree.ts';
import { unhonoured } from './unhonoured.ts';
import type { Unhonoured } from './unhonoured.ts';
import { validateConfigMap, validateSecret } from './validate-object.ts';
import { validatePod } from './validate.ts';
import type { Invalid } from './validation.ts';
import { lifecycleWarnings } from './without-effect.ts';

/** A hostile file could give one a value. */
const MOST_ERRORS = 100;
const KINDS = ['Pod', 'ConfigMap', 'Secret'] as const;

/** Reads a manifest file. `content` is the whole file as it is on disk. */
export function loadManifest(content: Uint8Array, options: LoadOptions): LoadedFile {
  try {
    return load(content, options);
  } catch (error) {
    // Nothing a file says may stop the agent; whatever slipped through costs that file only.
    const why = mayHoldSecret(Buffer.from(content).toString('latin1'))
      ? 'a defect of islet'
      : messageOf(error);
    const message = `cannot be read: ${why}`;
    return {
      documents: [],
      errors: [{ path: '', line: 1, message, stage: 'parse' }],
      warnings: [],
    };
  }
}

function load(content: Uint8Array, options: LoadOptions): LoadedFile {
  const { trees, problems, lines, hidden } = parseManifest(content);
  if (problems.length > 0) return { documents: [], errors: problems, warnings: [] };
  const loader = new Loader(lines, hidden, options);
  for (const tree of trees) {
    if (loader.errors.length >= MOST_ERRORS) break;
    loader.document(tree);
  }
  loader.end();
  const { documents, errors, warnings } = loader;
  return { documents: errors.length > 0 ? [] : documents, errors, warnings };
}

class Loader {
  readonly documents: LoadedDocument[] = [];
  readonly errors: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #lines: Lines;
  /** Whether a document that is no mapping may be a Secret gone wrong. */
  readonly #hidden: boolean;
  readonly #options: LoadOptions;
  /** Documents of kinds that islet has no use for. */
  readonly #foreign: Problem[] = [];
  readonly #seen = new Map<string, number>();

  constructor(lines: Lines, hidden: boolean, options: LoadOptions) {
    this.#lines = lines;
    this.#hidden = hidden;
    this.#options = options;
  }

  document(tree: Tree): void {
    if (tree.type !== 'object') {
      const found = this.#hidden ? describeType(tree) : describe(tree);
      return this.#fail('decode', '', `expected a mapping with kind, found ${found}`, tree.at);
    }
    switch (this.#kindOf(tree)) {
      case 'Pod':
        return this.#pod(tree);
      case 'ConfigMap':
        return this.#configMap(tree);
      case 'Secret':
        return this.#secret(tree);
      case undefined:
        return;
    }
  }

  /** What only the whole file can tell. */
  end(): void {
    const nothing = this.documents.length === 0 && this.errors.length === 0;
    if (nothing && this.#foreign.length === 0) {
      this.#fail('decode', '', 'the file is empty: expected a Pod, ConfigMap or Secret', 0);
    }
    if (nothing) this.errors.push(...this.#foreign);
    else this.warnings.push(...this.#foreign.map(ignored));
  }

  #kindOf(tree: ObjectTree): (typeof KINDS)[number] | undefined {
    const kind = tree.entries.get('kind')?.value;
    const version = tree.entries.get('apiVersion')?.value;
    if (kind?.type !== 'string' || kind.text === '') {
      const found = kind === undefined ? 'it is missing' : `found ${describe(kind)}`;
      this.#fail(
        'decode',
        'kind',
        `expected ${KINDS.join(', ')}, but ${found}`,
        kind?.at ?? tree.at,
      );
      return undefined;
    }
    const known = KINDS.find((name) => name === kind.text);
    if (known === undefined) return this.#otherKind(this.#word(kind.text), kind.at);
    if (version?.type === 'string' && version.text === 'v1') return known;
    const shown =
      version?.type === 'string' ? { ...version, text: this.#word(version.text) } : version;
    const found = shown === undefined ? 'it is missing' : `found ${describe(shown)}`;
    this.#fail(
      'decode',
      'apiVersion',
      `expected v1 for a ${known}, but ${found}`,
      version?.at ?? tree.at,
    );
    return undefined;
  }

  /** The lines of a text that begin too far to the right become part of the value before them. */
  #word(text: string): string {
    return this.#hidden ? text.replace(/\s.*/s, ' …') : text;
  }

  #otherKind(kind: string, at: number): undefined {
    const meant = similar(kind, KINDS);
    if (meant !== undefined) {
      this.#fail('decode', 'kind', `unknown kind "${kind}"; did you mean "${meant}"?`, at);
    } else if (kind === 'List' || kind === 'PodList') {
      const message = `a ${kind} is not read from a file: write its items as documents, separated by ---`;
      this.#fail('decode', 'kind', message, at);
    } else {
      const message = `kind "${kind}" is not read from files, only ${KINDS.join(', ')}`;
      this.#foreign.push(this.#problem('decode', 'kind', message, at));
    }
  }

  #pod(tree: ObjectTree): void {
    const before = this.errors.length;
    const { value, errors, warnings } = decode(podSchema, tree);
    this.errors.push(...errors.map((f) => this.#problem('decode', f.path, f.message, f.at)));
    const own = warnings.map((f) => this.#problem('decode', f.path, f.message, f.at));
    this.warnings.push(...own);
    if (errors.length > 0) return;
    const pod = value as unknown as Pod;
    if (pod.metadata.name === '') {
      return this.#fail('validate', 'metadata.name', 'a name is needed for the pod', tree.at, tree);
    }
    const ignored = unhonoured(pod, this.#options.nodeName);
    setDefaults(pod);
    setIdentity(pod, this.#options);
    this.#invalid(tree, validatePod(pod));
    if (this.errors.length === before) this.#references(tree, pod);
    this.#once(tree, 'Pod', podFullName(pod));
    if (this.errors.length > before) return;
    this.#restartOnChange(tree, pod, own);
    const gates = this.#options.featureGates ?? {};
    const idle = [...ignored, ...pastLifeWarnings(pod), ...lifecycleWarnings(pod, gates)];
    own.push(...this.#unhonoured(tree, idle));
    this.documents.push({ kind: 'Pod', pod, warnings: own, line: this.#line(tree.at) });
  }

  #unhonoured(tree: ObjectTree, found: readonly Unhonoured[]): Problem[] {
    const problems = found.map(({ path, message }) =>
      this.#problem('validate', path, message, offsetOf(tree, path)),
    );
    this.warnings.push(...problems);
    return problems;
  }

  #references(tree: ObjectTree, pod: Pod): void {
    const refused = apiReferences(pod).find((reference) => !reference.allowed);
    if (!refused) return;
    const message = `static pods may not reference ${refused.resource}`;
    this.#fail('api-reference', refused.path, message, tree.at, tree);
  }

  #restartOnChange(tree: ObjectTree, pod: Pod, own: Problem[]): void {
    const name = Annotation.restartOnChange;
    const value = pod.metadata.annotations?.[name];
    if (value === undefined || value === 'true' || value === 'false') return;
    const path = `metadata.annotations['${name}']`;
    const message = `expected "true" or "false", found ${quoted(value)}: it has no effect`;
    const at = offsetOf(tree, 'metadata.annotations');
    const warning = this.#problem('validate', path, message, at);
    own.push(warning);
    this.warnings.push(warning);
  }

  #configMap(tree: ObjectTree): void {
    const object = this.#object<ConfigMapObject>(tree, configMapSchema, validateConfigMap);
    if (object) this.documents.push({ kind: 'ConfigMap', object, line: this.#line(tree.at) });
  }

  #secret(tree: ObjectTree): void {
    const object = this.#object<SecretObject>(tree, secretSchema, validateSecret);
    if (object) this.documents.push({ kind: 'Secret', object, line: this.#line(tree.at) });
  }

  #object<T extends ConfigMapObject | SecretObject>(
    tree: ObjectTree,
    schema: typeof secretSchema,
    validate: (object: T) => Invalid[],
  ): T | undefined {
    const before = this.errors.length;
    const { value, errors, warnings } = decode(schema, tree, { hideValues: true });
    this.errors.push(...errors.map((f) => this.#problem('decode', f.path, f.message, f.at)));
    this.warnings.push(...warnings.map((f) => this.#problem('decode', f.path, f.message, f.at)));
    if (errors.length > 0) return undefined;
    const object = value as unknown as T;
    if (object.metadata.namespace === '') object.metadata.namespace = 'default';
    this.#invalid(tree, validate(object));
    this.#once(tree, object.kind, `${object.metadata.name}_${object.metadata.namespace}`);
    return this.errors.length > before ? undefined : object;
  }

  /** Two objects of one name in a file: neither is more right than the other. */
  #once(tree: ObjectTree, kind: string, fullName: string): void {
    const line = this.#seen.get(`${kind} ${fullName}`);
    if (line !== undefined) {
      const message = `the ${kind} ${fullName} is in this file already, on line ${line}`;
      this.#fail('validate', 'metadata.name', message, tree.at, tree);
    }
    this.#seen.set(`${kind} ${fullName}`, this.#line(tree.at));
  }

  #invalid(tree: ObjectTree, found: Invalid[]): void {
    for (const { path, message } of found.slice(0, MOST_ERRORS)) {
      this.#fail('validate', path, message, tree.at, tree);
    }
  }

  /** With a tree, the place is where `path` stands in it; else it is `at`. */
  #fail(stage: Stage, path: string, message: string, at: number, tree?: Tree): void {
    this.errors.push(this.#problem(stage, path, message, tree ? offsetOf(tree, path) : at));
  }

  #problem(stage: Stage, path: string, message: string, at: number): Problem {
    return { path, ...this.#lines.position(at), message, stage };
  }

  #line(at: number): number {
    return this.#lines.position(at).line;
  }
}

function ignored(problem: Problem): Problem {
  return { ...problem, message: `document ignored: ${problem.message}` };
}
