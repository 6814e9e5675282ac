/**
 * Owns: `islet events`: what happened, from the agent's journal, oldest first, kubectl's columns.
 */
import type { EventView } from '../server/view.ts';
import { AgentClient } from './client.ts';
import { painter } from './colour.ts';
import { bySeen, eventAge, typeCell } from './event-table.ts';
import { objectText, oneOf } from './get.ts';
import { guarded, harmless, write, type CliIo } from './io.ts';
import { podNameOf, withNodeSuffix } from './pod-lookup.ts';
import { tableLines } from './table.ts';

export interface EventsArgs {
  /** `NAME` or `pod/NAME`, with or without the node's suffix, also of a pod that is gone. */
  readonly for?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  /** `json` or `yaml`. */
  readonly output?: string;
}

export function events(args: EventsArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    oneOf(args.output, ['json', 'yaml']);
    const found = [...(await wanted(args, io))].sort(bySeen);
    if (args.output === 'json' || args.output === 'yaml') {
      await write(io.stdout, await objectText({ items: found }, args.output));
    } else if (found.length > 0) {
      await write(io.stdout, table(found, args, io));
    } else {
      io.stderr.write('No events found.\n');
    }
    return 0;
  });
}

async function wanted(args: EventsArgs, io: CliIo): Promise<readonly EventView[]> {
  const client = new AgentClient(io);
  const place = args.namespace && !args.allNamespaces ? { namespace: args.namespace } : {};
  if (args.for === undefined) return client.events(place);
  const pod = podNameOf(args.for);
  const exact = await client.events({ ...place, pod });
  if (exact.length > 0) return exact;
  const { nodeName } = await client.version();
  return client.events({ ...place, pod: withNodeSuffix(pod, nodeName) });
}

function table(found: readonly EventView[], args: EventsArgs, io: CliIo): string {
  const wallMs = io.clock.wall();
  const withNamespace =
    args.allNamespaces === true || new Set(found.map((e) => e.namespace)).size > 1;
  const header = [
    ...(withNamespace ? ['NAMESPACE'] : []),
    ...['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'],
  ];
  const rows = found.map((event) => [
    ...(withNamespace ? [event.namespace] : []),
    eventAge(event, wallMs),
    typeCell(event),
    event.reason,
    `${event.kind}/${event.name}`,
    harmless(event.message),
  ]);
  return `${tableLines(header, rows, { paint: painter(io.stdout, io.env) }).join('\n')}\n`;
}
