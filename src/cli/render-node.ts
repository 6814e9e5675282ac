/**
 * Owns: the node that `islet render` describes. Without options it is a reference node, the same wherever the
 * command runs, so that two people, or a review and a build, get the same preview of a manifest: a kubelet
 * with default settings on a small machine. Options describe another node, or take this machine.
 */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { parseQuantity, value } from '../api/quantity.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/model.ts';
import type { Problem } from '../config/problem.ts';
import { configError, shown } from '../config/problem.ts';
import { podCapacity } from '../runtime/node-amounts.ts';
import type { MachineFacts, NodeFacts } from '../runtime/node-facts.ts';
import { nodeFacts, readMachine } from '../runtime/node-facts.ts';
import { IsletError, messageOf } from '../util/errors.ts';
import { REFERENCE } from './render-flags.ts';

export interface RenderNode {
  readonly config: Config;
  readonly facts: NodeFacts;
  /** Text of `facts.resolvConf`; '' when that is ''. @throws IsletError when it cannot be read. */
  readonly resolvConfText: () => string;
}

type Parsed = Readonly<Record<string, unknown>>;

/**
 * `parsed` is what commander's `opts()` returns for NODE_FLAGS and `--node`.
 * @throws IsletError `invalid`, one line a fault.
 */
export function renderNode(parsed: Parsed): RenderNode {
  const reference = parsed['node'] !== 'this';
  const overrides = readOverrides(parsed);
  const environment = {
    cwd: process.cwd(),
    hostname: reference ? REFERENCE.name : os.hostname(),
    cores: os.availableParallelism(),
  };
  const config = loadConfig(
    { ...(reference ? { rootDir: REFERENCE.rootDir } : {}), ...parsed },
    environment,
  );
  const machine = reference ? referenceMachine(config) : readMachine(config);
  const facts = nodeFacts(config, changed(machine, overrides, config));
  const resolvConf = text(parsed, 'resolvConf') ?? facts.resolvConf;
  // On the reference node this is a file too; only its text is not that of the machine at hand.
  const told = reference && resolvConf === REFERENCE.resolvConf;
  return {
    config,
    facts: { ...facts, resolvConf },
    resolvConfText: () => (told ? REFERENCE.resolvConfText : readResolver(resolvConf)),
  };
}

/** Without local storage accounting: what a disk holds says nothing about a manifest. */
function referenceMachine(config: Config): MachineFacts {
  return {
    nodeIps: [REFERENCE.ip],
    capacity: {
      cpuMilli: REFERENCE.cpus * 1000,
      memory: REFERENCE.memory,
      ephemeralStorage: 0,
      pods: podCapacity(config, REFERENCE.cpus),
      pids: 2 ** 22,
      hugepages: new Map([[2 ** 21, 0]]),
    },
    cgroupVersion: 1,
    hugepageSizes: [2 ** 21],
    swapController: true,
    swapCapacity: 0,
    thermalThrottlePaths: [],
    selinuxEnabled: false,
  };
}

interface Overrides {
  readonly cpus: number | undefined;
  /** Bytes. */
  readonly memory: number | undefined;
  readonly cgroupVersion: 1 | 2 | undefined;
}

function changed(machine: MachineFacts, overrides: Overrides, config: Config): MachineFacts {
  const { cpus, memory, cgroupVersion } = overrides;
  const { capacity } = machine;
  return {
    ...machine,
    cgroupVersion: cgroupVersion ?? machine.cgroupVersion,
    capacity: {
      ...capacity,
      memory: memory ?? capacity.memory,
      ...(cpus === undefined ? {} : { cpuMilli: cpus * 1000, pods: podCapacity(config, cpus) }),
    },
  };
}

function readOverrides(parsed: Parsed): Overrides {
  const problems: Problem[] = [];
  const read = <T>(
    name: string,
    flag: string,
    expected: string,
    parse: (given: string) => T | undefined,
  ): T | undefined => {
    const given = text(parsed, name);
    const found = given === undefined ? undefined : parse(given);
    if (given !== undefined && found === undefined)
      problems.push({ where: flag, field: '', found: shown(given), expected });
    return found;
  };
  const overrides: Overrides = {
    cpus: read('nodeCpus', '--node-cpus', 'a whole number from 1', (given) =>
      /^[1-9]\d{0,4}$/.test(given) ? Number(given) : undefined,
    ),
    memory: read('nodeMemory', '--node-memory', 'a quantity such as 512Mi', bytes),
    cgroupVersion: read<1 | 2>('cgroupVersion', '--cgroup-version', '1 or 2', (given) =>
      given === '1' ? 1 : given === '2' ? 2 : undefined,
    ),
  };
  if (problems.length > 0) throw configError(problems);
  return overrides;
}

function bytes(given: string): number | undefined {
  const quantity = parseQuantity(given);
  const amount = quantity === undefined ? 0 : value(quantity);
  return amount > 0 ? amount : undefined;
}

function text(parsed: Parsed, name: string): string | undefined {
  const given = parsed[name];
  return typeof given === 'string' && given !== '' ? given : undefined;
}

function readResolver(file: string): string {
  if (file === '') return '';
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new IsletError('failed', `cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
}
