/**
 * Owns: the rules over the fields of an IsletConfiguration that its description cannot say.
 * Invariant: pure; all faults are reported, not only the first.
 */
import { shown } from './problem.ts';
import type { RuleFault } from './validate.ts';

type Written = Readonly<Record<string, unknown>>;

const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Checks the fields as they were written and decoded. */
export function validateIslet(written: Written): RuleFault[] {
  const faults: RuleFault[] = [];
  const names = new Set<unknown>();
  const classes = (written['runtimeClasses'] ?? []) as (Written | undefined)[];
  for (const [index, one] of classes.entries()) {
    if (!one) continue; // a fault of its own
    const report = (field: string, found: unknown, expected: string): void =>
      void faults.push({
        field: `runtimeClasses[${index}].${field}`,
        at: ['runtimeClasses', index, field],
        found: shown(found ?? null),
        expected,
      });
    const { name, handler } = one;
    if (typeof name !== 'string' || name.length > 253 || !SUBDOMAIN.test(name)) {
      report('name', name, 'a DNS name, as a runtimeClassName is');
    } else if (names.has(name)) {
      report('name', name, 'each class once');
    }
    names.add(name);
    if (typeof handler !== 'string' || !LABEL.test(handler)) {
      report('handler', handler, 'the name of a handler of the runtime, such as "runc" or "kata"');
    }
  }
  return faults;
}
