/**
 * Owns: the command line: which commands there are, their options, and which code each loads. A
 * command imports what it needs when it runs, so that `islet check` costs neither SQLite nor gRPC.
 */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { AGENT_FLAGS, normalizeArgv } from '../config/flags.ts';
import { SystemClock } from '../util/clock.ts';
import type { CliIo } from './io.ts';
import { NODE_FLAGS, NODE_KINDS } from './render-flags.ts';
import { processIo } from './process-io.ts';

/** Resolves to the exit status. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  let status = 0;
  const program = new Command('islet')
    .description('A standalone node agent: static pods on containerd without a control plane.')
    .showSuggestionAfterError()
    .helpCommand(false);
  const done = (code: number): void => {
    status = code;
  };
  addAgentCommands(program, done);
  addOfflineCommands(program, done);
  addQueryCommands(program, done);
  await program.parseAsync(normalizeArgv(argv));
  return status;
}

type Done = (status: number) => void;

const NODE_WORDS: readonly string[] = ['node', 'nodes', 'no'];
type Parsed = Readonly<Record<string, unknown>>;

function addAgentCommands(program: Command, done: Done): void {
  const agent = (name: string, text: string): Command => {
    const command = program.command(name).description(text).allowExcessArguments(false);
    for (const { flags, description } of AGENT_FLAGS) command.option(flags, description);
    return command;
  };
  agent('run', 'run the agent').action(async (options: Parsed) => {
    const { runAgent } = await import('./run.ts');
    done(await runAgent(options, packageVersion()));
  });
  agent('up', 'run the agent on ./manifests and show its pods come up').action(
    async (options: Parsed) => {
      const { runUp } = await import('./run.ts');
      done(await runUp(options, packageVersion()));
    },
  );
  agent(
    'down',
    'end all pods of a root directory, and the containerd that islet runs for it',
  ).action(async (options: Parsed) => {
    const { runDown } = await import('./run.ts');
    done(await runDown(options, packageVersion()));
  });
}

function addOfflineCommands(program: Command, done: Done): void {
  const nodeName = (options: Parsed): string => {
    const given = options['hostnameOverride'];
    return (typeof given === 'string' ? given : os.hostname()).toLowerCase();
  };
  program
    .command('check')
    .description('say what is wrong with manifests, without an agent')
    .argument('<file...>')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .option('--hostname-override <name>', 'node name instead of the host name')
    .action(async (files: string[], options: Parsed) => {
      const { runCheck } = await import('./check.ts');
      const { stdout, stderr } = process;
      const output = options['output'] as 'text' | 'json';
      done(runCheck(files, { output, nodeName: nodeName(options), stdout, stderr }));
    });
  const render = program
    .command('render')
    .description(
      'show what the runtime would be asked for, without a runtime: on a reference node, the same on every ' +
        'machine, unless options describe another',
    )
    .argument('<file...>', 'pods, and the ConfigMaps and Secrets that they use')
    .addOption(new Option('-o, --output <format>').choices(['yaml', 'json']).default('yaml'))
    .addOption(
      new Option('--node <which>', 'the reference node, or this machine')
        .choices(NODE_KINDS)
        .default('reference'),
    );
  for (const { flags, description } of NODE_FLAGS) render.option(flags, description);
  render.action(async (files: string[], options: Parsed) => {
    const { renderCommand } = await import('./render.ts');
    done(await renderCommand(files, options, process));
  });
}

function addQueryCommands(program: Command, done: Done): void {
  const io = (options: Parsed): CliIo => processIo(socketOf(options), new SystemClock());
  const query = (name: string, text: string): Command =>
    program
      .command(name)
      .description(text)
      .option('--root-dir <dir>', 'root directory of the agent')
      .option('--socket <path>', 'unix socket of the agent (default ROOT_DIR/islet.sock)');
  query('get', 'list pods or manifest files, or show the node')
    .argument('<what>', 'pods, files, node, or pod/NAME')
    .argument('[name...]')
    .option('-n, --namespace <namespace>')
    .option('-A, --all-namespaces')
    .option('-o, --output <format>', 'wide, json, yaml or name')
    .action(async (what: string, names: string[], options: Parsed) => {
      const { getFiles, getPods } = await import('./get.ts');
      if (['files', 'file', 'manifests'].includes(what)) {
        return done(await getFiles(options, io(options)));
      }
      if (['pods', 'pod', 'po'].includes(what)) {
        return done(await getPods({ names, ...options }, io(options)));
      }
      if (NODE_WORDS.includes(what)) {
        const { getNode } = await import('./describe-node.ts');
        return done(await getNode(options, io(options)));
      }
      if (what.includes('/')) {
        return done(await getPods({ names: [what, ...names], ...options }, io(options)));
      }
      process.stderr.write(
        `error: there is no resource "${what}"; there are pods, files and node\n`,
      );
      done(1);
    });
  query('describe', 'show everything about a pod or the node')
    .argument('<what>', 'pod NAME, pod/NAME, or node')
    .argument('[name]')
    .option('-n, --namespace <namespace>')
    .action(async (what: string, name: string | undefined, options: Parsed) => {
      if (NODE_WORDS.includes(what)) {
        const { describeNode } = await import('./describe-node.ts');
        return done(await describeNode(io(options)));
      }
      const { describePod } = await import('./describe.ts');
      const pod = ['pod', 'pods', 'po'].includes(what) && name !== undefined ? name : what;
      done(await describePod({ pod, ...options }, io(options)));
    });
  query('logs', 'print the log of a container')
    .argument('<pod>')
    .argument('[container]')
    .option('-c, --container <name>')
    .option('-n, --namespace <namespace>')
    .option('-f, --follow')
    .option('-p, --previous')
    .option('--timestamps')
    .option('--tail <lines>')
    .option('--since <duration>')
    .option('--since-time <time>')
    .option('--limit-bytes <bytes>')
    .action(async (pod: string, container: string | undefined, options: Parsed) => {
      const { logs } = await import('./logs.ts');
      done(
        await logs(
          { pod, ...(container === undefined ? {} : { container }), ...options },
          io(options),
        ),
      );
    });
  query('events', 'list events')
    .option('--for <pod>', 'NAME or pod/NAME')
    .option('-n, --namespace <namespace>')
    .option('-A, --all-namespaces')
    .option('-o, --output <format>', 'json or yaml')
    .action(async (options: Parsed) => {
      const { events } = await import('./events.ts');
      done(await events(options, io(options)));
    });
  query('top', 'show CPU and memory in use by pods or by the node')
    .argument('<what>', 'pods or node')
    .argument('[name...]')
    .option('-n, --namespace <namespace>')
    .option('-A, --all-namespaces')
    .option('--containers', 'one line for each container')
    .option('--sort-by <what>', 'cpu or memory')
    .option('-o, --output <format>', 'json or yaml')
    .action(async (what: string, names: string[], options: Parsed) => {
      const { topNode, topPods } = await import('./top.ts');
      if (['pods', 'pod', 'po'].includes(what)) {
        return done(await topPods({ names, ...options }, io(options)));
      }
      if (NODE_WORDS.includes(what)) return done(await topNode(options, io(options)));
      process.stderr.write(`error: there is no usage of "${what}"; there are pods and node\n`);
      done(1);
    });
  query('version', 'show the versions of this program, the agent and the runtime')
    .option('--client', 'do not ask the agent')
    .option('-o, --output <format>', 'json or yaml')
    .action(async (options: Parsed) => {
      const { version } = await import('./version.ts');
      const own = { islet: packageVersion(), node: process.version };
      done(await version({ ...own, ...options }, io(options)));
    });
}

/** `--socket`, else below `--root-dir`, else where an agent with default settings has it. */
function socketOf(options: Parsed): string {
  if (typeof options['socket'] === 'string') return path.resolve(options['socket']);
  const root = typeof options['rootDir'] === 'string' ? options['rootDir'] : '/var/lib/islet';
  return path.join(path.resolve(root), 'islet.sock');
}

function packageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
