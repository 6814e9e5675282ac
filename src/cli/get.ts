/**
 * Owns: `islet get pods` and `islet get files`.
 * Unlike kubectl: without `-n` the pods of all namespaces are shown, since a node has few pods and they
 * live in several; the NAMESPACE column appears with `-A` or when there is more than one.
 */
import type { Pod } from '../api/pod.ts';
import type { FileState, FileView } from '../server/view.ts';
import { IsletError } from '../util/errors.ts';
import { AgentClient } from './client.ts';
import { painter, type Colour } from './colour.ts';
import { guarded, harmless, write, type CliIo } from './io.ts';
import { findPod } from './pod-lookup.ts';
import { byName, podTableLines, severalNamespaces } from './pod-table.ts';
import { tableLines } from './table.ts';
import { toYaml } from './yaml-output.ts';

export interface GetPodsArgs {
  /** `NAME`, `pod/NAME`, with or without the node's suffix; all when empty. */
  readonly names: readonly string[];
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  /** `wide`, `json`, `yaml` or `name`. */
  readonly output?: string;
}

export function getPods(args: GetPodsArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    oneOf(args.output, ['wide', 'json', 'yaml', 'name']);
    const client = new AgentClient(io);
    const pods = select(await client.pods(), args);
    if (args.output === 'json' || args.output === 'yaml') {
      const value = args.names.length === 1 ? pods[0] : listOf(pods);
      await write(io.stdout, await objectText(value, args.output));
      return 0;
    }
    if (args.output === 'name') {
      await write(io.stdout, pods.map((pod) => `pod/${pod.metadata.name}\n`).join(''));
      return 0;
    }
    if (pods.length > 0) await write(io.stdout, podTable(pods, args, io));
    else io.stderr.write(nothingFound(args.namespace));
    for (const line of troubleLines(await client.files())) io.stderr.write(`${line}\n`);
    return 0;
  });
}

function select(pods: readonly Pod[], args: GetPodsArgs): Pod[] {
  const namespace = args.allNamespaces ? undefined : args.namespace;
  if (args.names.length > 0) return args.names.map((name) => findPod(pods, name, namespace));
  return pods.filter((pod) => !namespace || pod.metadata.namespace === namespace).sort(byName);
}

function podTable(pods: readonly Pod[], args: GetPodsArgs, io: CliIo): string {
  const lines = podTableLines(pods, {
    paint: painter(io.stdout, io.env),
    wallMs: io.clock.wall(),
    wide: args.output === 'wide',
    namespaceColumn: args.allNamespaces === true || severalNamespaces(pods),
  });
  return `${lines.join('\n')}\n`;
}

function nothingFound(namespace: string | undefined): string {
  return namespace ? `No pods found in ${namespace} namespace.\n` : 'No pods found.\n';
}

const TROUBLE: Readonly<Record<FileState, boolean>> = {
  accepted: false,
  ignored: false,
  waiting: false,
  invalid: true,
  duplicate: true,
  unreadable: true,
};

/** One line for each file of the manifest directory that does not run as it stands. */
export function troubleLines(files: readonly FileView[]): string[] {
  return files
    .filter((file) => TROUBLE[file.state])
    .map((file) => {
      const still = file.usingLastGood ? ', its pods run from what was good last' : '';
      const [first = '', ...more] = file.messages.map(harmless);
      const rest = more.length > 0 ? ` (and ${more.length} more: islet get files)` : '';
      return `${harmless(file.file)} is ${file.state}${still}: ${first}${rest}`;
    });
}

export interface GetFilesArgs {
  /** `json` or `yaml`. */
  readonly output?: string;
}

const STATE_COLOUR: Readonly<Record<FileState, Colour>> = {
  accepted: 'green',
  ignored: 'dim',
  waiting: 'yellow',
  invalid: 'red',
  duplicate: 'red',
  unreadable: 'red',
};

export function getFiles(args: GetFilesArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    oneOf(args.output, ['json', 'yaml']);
    const files = await new AgentClient(io).files();
    if (args.output === 'json' || args.output === 'yaml') {
      await write(io.stdout, await objectText({ items: files }, args.output));
    } else if (files.length > 0) {
      const rows = files.flatMap(fileRows);
      const lines = tableLines(['FILE', 'STATE', 'PODS', 'MESSAGE'], rows, {
        paint: painter(io.stdout, io.env),
      });
      await write(io.stdout, `${lines.map((line) => line.trimEnd()).join('\n')}\n`);
    } else {
      io.stderr.write('No files found in the manifest directory.\n');
    }
    return 0;
  });
}

/** The first message beside the file, each further one on a row of its own. */
function fileRows(file: FileView): (string | { text: string; colour: Colour })[][] {
  const stale = file.usingLastGood ? ['the pods run from what was good last'] : [];
  const [first = '', ...more] = [...file.messages.map(harmless), ...stale];
  const state = { text: file.state, colour: STATE_COLOUR[file.state] };
  return [
    [harmless(file.file), state, file.pods.join(',') || '<none>', first],
    ...more.map((message) => ['', '', '', message]),
  ];
}

/** Throws IsletError `invalid` for an output format that the command does not have. */
export function oneOf(output: string | undefined, allowed: readonly string[]): void {
  if (output === undefined || allowed.includes(output)) return;
  const message = `error: -o ${JSON.stringify(output)}: allowed are ${allowed.join(', ')}`;
  throw new IsletError('invalid', message);
}

export async function objectText(value: unknown, output: 'json' | 'yaml'): Promise<string> {
  return output === 'json' ? `${JSON.stringify(value, null, 4)}\n` : toYaml(value);
}

function listOf(items: readonly Pod[]): object {
  return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items };
}
