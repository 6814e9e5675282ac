/**
 * Owns: `islet version`: this program's version and, when one runs, the agent's.
 */
import type { VersionView } from '../server/view.ts';
import { AgentClient } from './client.ts';
import { humanDuration } from './duration.ts';
import { objectText, oneOf } from './get.ts';
import { guarded, write, type CliIo } from './io.ts';

export interface VersionArgs {
  /** The version of this program, as in its package. */
  readonly islet: string;
  /** The version of Node.js that it runs on. */
  readonly node: string;
  /** Do not ask the agent. */
  readonly client?: boolean;
  /** `json` or `yaml`. */
  readonly output?: string;
}

/** Prints its own version whatever happens; 1 when the agent was to be asked and did not answer. */
export function version(args: VersionArgs, io: CliIo): Promise<number> {
  return guarded(io, async () => {
    oneOf(args.output, ['json', 'yaml']);
    const own = { islet: args.islet, node: args.node };
    if (args.output === 'json' || args.output === 'yaml') {
      const agent = args.client ? undefined : await new AgentClient(io).version();
      await write(
        io.stdout,
        await objectText({ client: own, ...(agent && { agent }) }, args.output),
      );
      return 0;
    }
    await write(io.stdout, `islet ${own.islet} (Node.js ${own.node})\n`);
    if (!args.client) await write(io.stdout, agentText(await new AgentClient(io).version()));
    return 0;
  });
}

function agentText(agent: VersionView): string {
  const runtime = `${agent.containerRuntime} ${agent.containerRuntimeVersion}`.trim();
  const facts = [
    `agent ${agent.islet} (Node.js ${agent.node})`,
    `on node ${agent.nodeName}`,
    `up ${humanDuration(agent.uptimeSeconds * 1000)}`,
    runtime === '' ? 'container runtime does not answer' : `runtime ${runtime}`,
  ];
  return `${facts.join(', ')}\n`;
}
