/**
 * What 200 pods with a readiness probe every second cost: the built agent in a process of its own, against a runtime
 * in memory and a server in two others. Prints the user and system time of the agent's process, in percent of one
 * core, for pods without probes and for each kind of probe; exits 1 when one is over the budget.
 *
 *   node build/test/bench/probes.js [none|exec|tcp|http|grpc …]
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAgent, until } from '../support/agent.ts';
import type { TestAgent } from '../support/agent.ts';
import type { TargetAddress } from './probe-target.ts';

const PODS = 200;
const BUDGET_PERCENT = 10;
const SETTLE_MS = 12_000;
const MEASURE_MS = 20_000;
/** Of the kernel's accounting (USER_HZ). */
const TICKS_PER_SECOND = 100;

const KINDS = ['none', 'exec', 'tcp', 'http', 'grpc'] as const;
type Kind = (typeof KINDS)[number];

interface Row {
  readonly probes: Kind;
  readonly user: string;
  readonly sys: string;
  readonly 'CPU (%)': string;
  readonly 'per probe (µs)': string;
  readonly 'RSS (MB)': string;
  readonly percent: number;
}

async function startTarget(kind: string): Promise<{ child: ChildProcess; address: TargetAddress }> {
  const child = fork(path.join(import.meta.dirname, 'probe-target.js'), [kind], { execArgv: [] });
  const [address] = (await once(child, 'message')) as [TargetAddress];
  return { child, address };
}

function handler(kind: Kind, port: number): object | undefined {
  switch (kind) {
    case 'none':
      return undefined;
    case 'exec':
      return { exec: { command: ['true'] } };
    case 'tcp':
      return { tcpSocket: { port } };
    case 'http':
      return { httpGet: { port, path: '/ready' } };
    case 'grpc':
      return { grpc: { port } };
  }
}

function manifest(name: string, probe: object | undefined): object {
  const container = {
    ...{ name: 'app', image: 'docker.io/library/app:1' },
    ...(probe && { readinessProbe: { ...probe, periodSeconds: 1 } }),
  };
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: { containers: [container], enableServiceLinks: false },
  };
}

async function allReady(agent: TestAgent): Promise<boolean> {
  await sleep(1000);
  const pods = await agent.pods();
  const ready = pods.filter(({ status }) =>
    status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'),
  );
  return ready.length === PODS;
}

interface Cpu {
  readonly user: number;
  readonly sys: number;
}

/** Seconds so far. */
function cpuOf(pid: number): Cpu {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, sys] = [fields[11], fields[12]].map((ticks) => Number(ticks) / TICKS_PER_SECOND);
  return { user: user ?? Number.NaN, sys: sys ?? Number.NaN };
}

function rssOf(pid: number): string {
  const kib = /VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kib) / 1024).toFixed(0);
}

async function measure(kind: Kind, baseline: number | undefined): Promise<Row> {
  const runtime = await startTarget('runtime');
  const server = ['none', 'exec'].includes(kind) ? undefined : await startTarget(kind);
  const agent = await makeAgent({
    socket: String(runtime.address),
    kubelet: { cgroupsPerQOS: false, maxPods: PODS + 10 },
  });
  try {
    const probe = handler(kind, Number(server?.address));
    for (let i = 0; i < PODS; i++) agent.apply(`p${i}.json`, manifest(`p${i}`, probe));
    await agent.start();
    await until('all pods are ready', () => allReady(agent), 180);
    const pid = agent.pid ?? 0;
    await sleep(SETTLE_MS);
    const [before, from] = [cpuOf(pid), performance.now()];
    await sleep(MEASURE_MS);
    const [after, seconds] = [cpuOf(pid), (performance.now() - from) / 1000];
    const [user, sys] = [after.user - before.user, after.sys - before.sys];
    const percent = (100 * (user + sys)) / seconds;
    const each = baseline === undefined ? undefined : ((percent - baseline) * 1e4) / PODS;
    return {
      ...{ probes: kind, user: user.toFixed(2), sys: sys.toFixed(2), percent },
      'CPU (%)': percent.toFixed(1),
      'per probe (µs)': each?.toFixed(0) ?? '',
      'RSS (MB)': rssOf(pid),
    };
  } finally {
    await agent.stop('SIGKILL'); // its pods are nowhere but in the runtime, which goes, too
    await agent.dispose();
    for (const child of [runtime.child, server?.child]) child?.disconnect();
  }
}

const asked = KINDS.filter((kind) => process.argv.slice(2).includes(kind));
const rows: Row[] = [];
for (const kind of asked.length === 0 ? KINDS : asked) {
  rows.push(await measure(kind, rows.find(({ probes }) => probes === 'none')?.percent));
}
console.log(`${PODS} pods, one readiness probe each, period 1 s, ${MEASURE_MS / 1000} s:`);
console.table(rows.map(({ percent: _, ...row }) => row));
for (const { probes, percent } of rows) {
  if (percent <= BUDGET_PERCENT) continue;
  console.error(`over budget: ${probes} takes ${percent.toFixed(1)} %, ${BUDGET_PERCENT} allowed`);
  process.exitCode = 1;
}
