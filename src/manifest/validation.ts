/**
 * Owns: the vocabulary of validation: a collector, the forms of messages and the checks of names that
 * many fields share. Messages have upstream's words, so that they can be looked up.
 */

export interface Invalid {
  /** Field path. */
  path: string;
  message: string;
}

/** Collects everything that is wrong; stages never stop at the first error. */
export class Findings {
  readonly list: Invalid[] = [];

  required(path: string, detail = ''): void {
    this.#add(path, `Required value${detail === '' ? '' : `: ${detail}`}`);
  }

  forbidden(path: string, detail: string): void {
    this.#add(path, `Forbidden: ${detail}`);
  }

  duplicate(path: string, value: string): void {
    this.#add(path, `Duplicate value: ${shown(value)}`);
  }

  notFound(path: string, value: string): void {
    this.#add(path, `Not found: ${shown(value)}`);
  }

  invalid(path: string, value: unknown, detail: string): void {
    this.#add(path, `Invalid value: ${shown(value)}: ${detail}`);
  }

  unsupported(path: string, value: string, supported: readonly string[]): void {
    const names = supported.map((name) => JSON.stringify(name)).join(', ');
    this.#add(path, `Unsupported value: ${shown(value)}: supported values: ${names}`);
  }

  tooMany(path: string, found: number, most: number): void {
    this.#add(path, `Too many: ${found}: must have at most ${most} items`);
  }

  tooLong(path: string, most: number): void {
    this.#add(path, `Too long: may not be more than ${most} bytes`);
  }

  /** One error for each thing that is wrong with a value. */
  all(path: string, value: unknown, details: readonly string[]): void {
    for (const detail of details) this.invalid(path, value, detail);
  }

  /** An optional value that has to be one of a set; '' and absent pass. */
  oneOf(path: string, value: string | undefined, supported: readonly string[]): void {
    if (value === undefined || supported.includes(value)) return;
    this.unsupported(path, value, supported);
  }

  nonNegative(path: string, value: number | undefined): void {
    if (value !== undefined && value < 0) {
      this.invalid(path, value, 'must be greater than or equal to 0');
    }
  }

  between(path: string, value: number | undefined, least: number, most: number): void {
    if (value !== undefined && (value < least || value > most)) {
      this.invalid(path, value, `must be between ${least} and ${most}, inclusive`);
    }
  }

  #add(path: string, message: string): void {
    this.list.push({ path, message });
  }
}

const LONGEST_SHOWN = 300;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…"` : text;
}

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

export const MAX_PORT = 65535;
export const MAX_ID = 2147483647;

const atMost = (most: number, unit = 'characters'): string =>
  `must be no more than ${most} ${unit}`;

/** What is wrong with a DNS label, e.g. a container's name. */
export function labelProblems(value: string): string[] {
  const problems = value.length > 63 ? [atMost(63)] : [];
  if (!LABEL.test(value)) {
    problems.push(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    );
  }
  return problems;
}

/** What is wrong with a DNS subdomain, e.g. a pod's name. */
export function subdomainProblems(value: string): string[] {
  const problems = value.length > 253 ? [atMost(253)] : [];
  if (!SUBDOMAIN.test(value)) {
    problems.push(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
  }
  return problems;
}

const QUALIFIED_FORM =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/** What is wrong with a key such as `example.com/name`: of a label, an annotation, a resource. */
export function qualifiedNameProblems(value: string, what = 'name part'): string[] {
  const parts = value.split('/');
  const [first = '', second] = parts;
  if (parts.length > 2) {
    const prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    const kind = what === 'name part' ? 'a qualified name' : what;
    return [`${kind} ${QUALIFIED_FORM} ${prefix}`];
  }
  const problems: string[] = [];
  if (second !== undefined) {
    if (first === '') problems.push('prefix part must be non-empty');
    else problems.push(...subdomainProblems(first).map((problem) => `prefix part ${problem}`));
  }
  const name = second ?? first;
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push(`name part ${atMost(63)}`);
  if (!QUALIFIED.test(name)) problems.push(`name part ${QUALIFIED_FORM}`);
  return problems;
}

/** What is wrong with the value of a label; '' is fine. */
export function labelValueProblems(value: string): string[] {
  const problems = value.length > 63 ? [atMost(63)] : [];
  if (value !== '' && !QUALIFIED.test(value)) {
    problems.push(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
  }
  return problems;
}

/** What is wrong with the name of a port. */
export function portNameProblems(value: string): string[] {
  const problems = value.length > 15 ? [atMost(15)] : [];
  if (!/^[-a-z0-9]*$/.test(value)) {
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (/^-|-$/.test(value)) problems.push('must not begin or end with a hyphen');
  return problems;
}

/** What is wrong with the key of a ConfigMap or Secret. */
export function configKeyProblems(value: string): string[] {
  const problems = value.length > 253 ? [atMost(253)] : [];
  if (!/^[-._a-zA-Z0-9]+$/.test(value)) {
    problems.push(
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    );
  } else if (value === '.' || value.startsWith('..')) {
    problems.push(`must not be '.' and must not start with '..'`);
  }
  return problems;
}
