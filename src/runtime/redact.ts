/**
 * Owns: keeping values of Secrets out of what a runtime says. A runtime quotes commands, paths and
 * variables in its errors, and `$(NAME)` may have put a value into each of them.
 * Invariant: what the runtime keeps of a container outlives the values it was made with, which may have changed or
 * be gone since: a text that may quote those is withheld, because nobody can tell them from other words.
 * Limit: a value of less than LEAST characters protects nothing and would make texts unreadable.
 */
import type { ConfigObjects } from '../api/config-object.ts';
import type { Container, Pod } from '../api/pod.ts';
import { namedContainer } from '../api/pod.ts';
import { containerReferences } from '../manifest/config-references.ts';
import { textOfBytes } from '../util/byte-text.ts';
import type { RuntimePodStatus } from './model.ts';

const LEAST = 4;
const WITHHELD =
  'the message of the runtime is withheld: it may quote a value of a Secret; islet events tells what the start met';

/** The text with each value of the Secrets in the container's variables as `<secret NAMESPACE/NAME KEY>`. */
export function redacted(
  text: string,
  pod: Pod,
  container: Container,
  objects: ConfigObjects,
): string {
  if (text === '') return text;
  let out = text;
  for (const [value, shown] of valuesOf(pod, container, objects)) {
    out = out.replaceAll(value, shown);
  }
  return out;
}

/** The status with the runtime's messages redacted or withheld; the same one where nothing is to be. */
export function redactedStatus(
  pod: Pod,
  status: RuntimePodStatus,
  objects: ConfigObjects,
): RuntimePodStatus {
  if (!status.containers.some(({ message }) => message !== '')) return status;
  const containers = status.containers.map((record) => {
    const container = namedContainer(pod, record.name);
    if (!container || record.message === '') return record;
    const message = mayQuote(pod, container)
      ? WITHHELD
      : redacted(record.message, pod, container, objects);
    return { ...record, message };
  });
  return { ...status, containers };
}

/** Whether a variable may have put a value of a Secret where the runtime quotes from. */
function mayQuote(pod: Pod, container: Container): boolean {
  const { command = [], args = [], volumeMounts = [] } = container;
  const texts = [...command, ...args, ...volumeMounts.map(({ subPathExpr = '' }) => subPathExpr)];
  if (!texts.some((text) => text.includes('$('))) return false;
  return containerReferences(pod, container).some(
    ({ kind, use }) => kind === 'Secret' && use === 'env',
  );
}

/** What stands for what, the longest first: one value may be part of another. */
function valuesOf(pod: Pod, container: Container, objects: ConfigObjects): [string, string][] {
  const found: [string, string][] = [];
  for (const { kind, use, namespace, name } of containerReferences(pod, container)) {
    if (kind !== 'Secret' || use !== 'env') continue;
    for (const [key, bytes] of objects.secret(namespace, name)?.data ?? []) {
      const value = textOfBytes(bytes);
      if (value.length < LEAST) continue;
      const shown = `<secret ${namespace}/${name} ${key}>`;
      // Once as it is, and once as it stands in quotes.
      for (const form of new Set([value, JSON.stringify(value).slice(1, -1)])) {
        found.push([form, shown]);
      }
    }
  }
  return found.sort(([a], [b]) => b.length - a.length);
}
