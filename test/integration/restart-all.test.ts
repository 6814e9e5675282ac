/**
 * RestartAllContainers in the whole agent against a scripted runtime: what is asked of it and in which order,
 * and what is left to do when the agent dies in the middle.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerStatus } from '../../src/api/status.ts';
import { Bench, IMAGE } from '../support/bench.ts';

const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
const base = { image: IMAGE, imagePullPolicy: 'IfNotPresent' };
const preStop = { exec: { command: ['bye'] } };
const SPEC = {
  restartPolicy: 'Never',
  initContainers: [
    { ...base, name: 'prepare' },
    { ...base, name: 'side', restartPolicy: 'Always' },
  ],
  containers: [
    { ...base, name: 'trigger', restartPolicy: 'Never', restartPolicyRules: [rule] },
    { ...base, name: 'other', lifecycle: { preStop } },
  ],
};

class Group {
  readonly bench: Bench;

  constructor(bench: Bench) {
    this.bench = bench;
  }

  static async running(t: Parameters<typeof Bench.start>[0]): Promise<Group> {
    const group = new Group(await Bench.start(t));
    group.bench.apply('group', SPEC);
    await group.bench.startAgent();
    await group.allRun(0);
    return group;
  }

  /** The id of the newest container of a name. */
  id(name: string): string | undefined {
    const all = [...this.bench.cri.runtime.containers.values()];
    return all.findLast((c) => c.status.metadata?.name === name)?.status.id;
  }

  /** Now, by the clock of the agent: the pause after it counts from there. */
  exit(name: string, code: number): void {
    const { runtime } = this.bench.cri;
    const id = this.id(name) ?? assert.fail(`no ${name}`);
    runtime.exit(id, code);
    const ended = runtime.containers.get(id)?.status;
    if (ended) ended.finishedAt = BigInt(Date.now()) * 1_000_000n;
  }

  status(name: string): Partial<ContainerStatus> {
    const { initContainerStatuses = [], containerStatuses = [] } =
      this.bench.pod('group')?.status ?? {};
    return [...initContainerStatuses, ...containerStatuses].find((s) => s.name === name) ?? {};
  }

  condition(): string | undefined {
    const { conditions = [] } = this.bench.pod('group')?.status ?? {};
    return conditions.find((c) => c.type === 'AllContainersRestarting')?.status;
  }

  /** Lets the init sequence pass, then waits for the regular containers of life number `life`. */
  async allRun(life: number): Promise<void> {
    const is = (name: string): boolean => this.status(name).restartCount === life;
    const runs = (name: string): boolean =>
      is(name) && this.status(name).state?.running !== undefined;
    await this.bench.until('the init container runs', () => runs('prepare'));
    this.exit('prepare', 0);
    await this.bench.until('the others run', () => ['side', 'trigger', 'other'].every(runs));
  }

  /** What was asked of the runtime about containers, as `<rpc> <name>`. */
  asked(names: ReadonlyMap<string, string>): string[] {
    return this.bench.cri.calls.flatMap(({ rpc, request }) => {
      if (!['stopContainer', 'removeContainer', 'execSync'].includes(rpc)) return [];
      const { containerId, timeout } = request as { containerId: string; timeout?: bigint };
      const name = names.get(containerId);
      return rpc === 'stopContainer' ? `stop ${name} ${timeout}` : `${rpc} ${name}`;
    });
  }
}

const NAMES = ['prepare', 'side', 'trigger', 'other'];

describe('RestartAllContainers', () => {
  it('stops the others without grace, clears all away, the trigger last, and begins with the first init container', async (t) => {
    const group = await Group.running(t);
    const { bench } = group;
    const names = new Map(NAMES.map((name) => [group.id(name) ?? '', name]));
    const ip = bench.pod('group')?.status.podIP;
    assert.equal(group.condition(), 'False');
    const phases = new Set<string | undefined>();
    const conditions = new Set<string | undefined>();
    const remove = bench.cri.runtime.handlers.removeContainer;
    bench.cri.on('removeContainer', (request) => {
      phases.add(bench.pod('group')?.status.phase);
      conditions.add(group.condition());
      return remove!(request);
    });
    group.exit('trigger', 42);
    await bench.until('the init container runs again', () => {
      const { restartCount, state } = group.status('prepare');
      return restartCount === 1 && state?.running !== undefined;
    });
    assert.deepEqual([...phases, ...conditions], ['Running', 'True']);
    const asked = group.asked(names);
    assert.deepEqual(asked.slice(0, 2).sort(), ['stop other 2', 'stop side 2']);
    assert.deepEqual(
      asked.slice(2),
      ['other', 'prepare', 'side', 'trigger'].map((name) => `removeContainer ${name}`),
    );
    assert.equal(group.condition(), 'False');
    for (const name of ['trigger', 'other']) {
      const { state, lastState, restartCount } = group.status(name);
      assert.equal(state?.waiting !== undefined, true);
      assert.equal(lastState?.terminated?.exitCode, 137);
      assert.equal(lastState?.terminated?.reason, 'RestartingAllContainers');
      assert.equal(restartCount, 1);
    }
    await group.allRun(1);
    assert.equal(bench.cri.runtime.sandboxes.size, 1);
    assert.equal(bench.pod('group')?.status.podIP, ip);
    assert.equal(bench.pod('group')?.status.phase, 'Running');
    assert.equal(group.status('other').lastState?.terminated?.reason, 'RestartingAllContainers');
  });

  it('goes on where it was when the agent died in the middle', async (t) => {
    const group = await Group.running(t);
    const { bench } = group;
    const side = group.id('side');
    const remove = bench.cri.runtime.handlers.removeContainer;
    const stuck = new Promise<never>(() => {});
    let met = false;
    bench.cri.on('removeContainer', (request) => {
      if (request.containerId !== side) return remove!(request);
      met = true;
      return stuck;
    });
    group.exit('trigger', 42);
    await bench.until('the side car is being removed', () => met);
    await bench.stopAgent();
    assert.deepEqual(bench.containers('group'), ['CONTAINER_EXITED#0', 'CONTAINER_EXITED#0']);
    bench.cri.reset();
    await bench.startAgent();
    await group.allRun(1);
    assert.equal(bench.cri.runtime.sandboxes.size, 1);
  });

  it('a container that asks for it again and again is held back, the others are not', async (t) => {
    const group = await Group.running(t);
    const { bench } = group;
    group.exit('trigger', 42);
    await group.allRun(1);
    group.exit('trigger', 42);
    await bench.until('the init container runs', () => {
      const { restartCount, state } = group.status('prepare');
      return restartCount === 2 && state?.running !== undefined;
    });
    group.exit('prepare', 0);
    await bench.until('the trigger waits', () => {
      return group.status('trigger').state?.waiting?.reason === 'CrashLoopBackOff';
    });
    await bench.until('the other runs', () => group.status('other').state?.running !== undefined);
    assert.equal(group.status('trigger').restartCount, 2);
    assert.match(group.status('trigger').state?.waiting?.message ?? '', /^back-off 10s restarting/);
  });
});
