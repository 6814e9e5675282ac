/**
 * Owns: how a test knows that the agent has looked, decided and acted, where nothing may come of it:
 * whatever else it wanted to do, it had every chance to begin with.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../src/api/pod.ts';
import { until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import { LOOP, manifest, running, shell } from './manifest.ts';

const SAMPLE_MS = 50;

/** Resolves when the agent has listed the directory and judged what it found, after this call. */
export async function looked(agent: TestAgent): Promise<void> {
  const name = `${unused('zz-look')}.yaml`;
  agent.apply(name, 'kind: Nonsense\n');
  await verdict(agent, name, 'invalid');
  agent.remove(name);
}

/** Resolves when a pod that is new in the directory runs: other pods had their turn by then. */
export async function atWork(agent: TestAgent): Promise<void> {
  const name = unused('new');
  agent.apply(`${name}.yaml`, manifest(name, shell(LOOP)));
  await running(agent, name);
  agent.remove(`${name}.yaml`);
}

/** Resolves to what the agent says of a file once its verdict is `state`. */
export async function verdict(
  agent: TestAgent,
  file: string,
  state: string,
): Promise<readonly string[]> {
  const found = await until(`${file} is ${state}`, async () => {
    const view = await agent.file(file);
    if (view?.state !== state) throw new Error(`it is ${JSON.stringify(view)}`);
    return view;
  });
  return found.messages;
}

/**
 * Looks at a pod again and again, also while an agent starts, until the returned function is called;
 * that one resolves to everything different that `describe` said.
 */
export function sample(
  agent: TestAgent,
  name: string,
  describe: (pod: Pod | undefined) => string,
): () => Promise<string[]> {
  const seen = new Set<string>();
  let done = false;
  const loop = async (): Promise<void> => {
    while (!done) {
      const answer = await agent.pod(name).then(
        (pod) => ({ pod }),
        () => undefined, // no agent answers just now
      );
      if (answer) seen.add(described(answer.pod, describe));
      await sleep(SAMPLE_MS);
    }
  };
  const ended = loop();
  return async () => {
    done = true;
    await ended;
    return [...seen];
  };
}

function described(pod: Pod | undefined, describe: (pod: Pod | undefined) => string): string {
  try {
    return describe(pod);
  } catch (error) {
    return String(error);
  }
}

/** Waits until the log of a pod is not empty; a container runs a moment before it says something. */
export async function logOf(agent: TestAgent, name: string): Promise<string> {
  return until(`${name} says something`, async () => {
    const { stdout, stderr } = await agent.cli('logs', name);
    if (stdout === '') throw new Error(stderr);
    return stdout;
  });
}

function unused(prefix: string): string {
  return `${prefix}-${randomBytes(3).toString('hex')}`;
}
