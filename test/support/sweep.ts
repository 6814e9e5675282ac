/**
 * Owns: removing by force what a dead containerd left: shims and their containers, mounts, cgroups,
 * bridge, iptables rules, files. Touches only what names this containerd's socket, network or root.
 */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Sweep {
  readonly root: string;
  readonly socket: string;
  readonly network: string;
  readonly bridge: string;
}

export async function sweep(what: Sweep): Promise<void> {
  const cgroups = new Set<string>();
  for (let round = 0; round < 100; round++) {
    const doomed = family(shims(what.socket));
    if (doomed.length === 0) break;
    for (const pid of doomed) {
      for (const directory of cgroupsOf(pid)) cgroups.add(directory);
      kill(pid);
    }
    await sleep(50);
  }
  await removeCgroups(cgroups);
  for (const file of leftFiles(what)) fs.rmSync(file, { force: true });
  await unmountBelow(what.root);
  await run('ip', ['link', 'del', what.bridge]).catch(() => undefined);
  await removeRules(what.network);
  fs.rmSync(what.root, { recursive: true, force: true, maxRetries: 5 });
}

/** Pids of the shims that serve the containerd with this socket. */
export function shims(socket: string): number[] {
  return pids().filter((pid) => {
    const words = read(`/proc/${pid}/cmdline`).split('\0');
    return path.basename(words[0] ?? '').startsWith('containerd-shim') && words.includes(socket);
  });
}

function family(roots: readonly number[]): number[] {
  const parents = new Map(
    pids().map((pid) => [pid, Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1])]),
  );
  const found = new Set(roots);
  for (let size = -1; size !== found.size;) {
    size = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** Directories of the container's or pod's own cgroups; never a shared one. */
function cgroupsOf(pid: number): string[] {
  const out: string[] = [];
  for (const line of read(`/proc/${pid}/cgroup`).split('\n')) {
    const [, controllers = '', own = ''] = line.split(':');
    if (!/[0-9a-f]{64}|\bpod[0-9a-f-]{32,}/.test(own)) continue;
    const hierarchy = controllers.replace(/^name=/, '');
    for (const base of hierarchy === '' ? ['', 'unified'] : [hierarchy, ...hierarchy.split(',')])
      out.push(path.join('/sys/fs/cgroup', base, own));
  }
  return out;
}

async function removeCgroups(directories: ReadonlySet<string>): Promise<void> {
  for (const directory of directories)
    for (let attempt = 0; attempt < 20 && fs.existsSync(directory); attempt++) {
      try {
        fs.rmdirSync(directory);
        if (/\/pod[0-9a-f-]{32,}$/.test(path.dirname(directory)))
          fs.rmdirSync(path.dirname(directory));
      } catch {
        await sleep(50);
      }
    }
  // containerd's own parent of sandboxes that name none.
  for (const hierarchy of fs.readdirSync('/sys/fs/cgroup'))
    try {
      fs.rmdirSync(path.join('/sys/fs/cgroup', hierarchy, 'k8s.io'));
    } catch {
      // Not there, or in use by another containerd.
    }
}

/**
 * Shims listen in a directory that is the same for every containerd, and the CNI library remembers
 * every address it gave in another; the bundles below root tell which ones are ours.
 */
function leftFiles(what: Sweep): string[] {
  const tasks = path.join(what.root, 'containerd/state/io.containerd.runtime.v2.task/k8s.io');
  const ids = list(tasks);
  const sockets = ids.map((id) => read(path.join(tasks, id, 'address')).replace('unix://', ''));
  const results = '/var/lib/cni/results';
  const remembered = list(results).filter(
    (name) => name.startsWith(`${what.network}-`) || ids.some((id) => name.includes(id)),
  );
  return [
    ...sockets.filter((socket) => socket.startsWith('/run/containerd/s/')),
    ...remembered.map((name) => path.join(results, name)),
  ];
}

async function unmountBelow(root: string): Promise<void> {
  const mounts = read('/proc/self/mounts')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((mount) => mount.startsWith(`${root}/`))
    .reverse();
  for (const mount of mounts) await run('umount', ['-l', mount]).catch(() => undefined);
}

/** The bridge plugin's and portmap's rules carry the network's name in a comment. */
async function removeRules(network: string): Promise<void> {
  const saved = await run('iptables-save', ['-t', 'nat']).catch(() => ({ stdout: '' }));
  const rules = saved.stdout.split('\n').filter((l) => l.startsWith('-A') && l.includes(network));
  const chains = new Set<string>();
  for (const rule of rules) {
    const words = [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map((m) =>
      m[1] === undefined ? (m[2] ?? '') : m[1].replace(/\\(.)/g, '$1'),
    );
    for (const word of words) if (/^CNI-(?:[0-9a-f]+|DN-[0-9a-f]+)$/.test(word)) chains.add(word);
    await run('iptables', ['-t', 'nat', '-D', ...words.slice(1)]).catch(() => undefined);
  }
  for (const chain of chains) {
    await run('iptables', ['-t', 'nat', '-F', chain]).catch(() => undefined);
    await run('iptables', ['-t', 'nat', '-X', chain]).catch(() => undefined);
  }
}

function pids(): number[] {
  return fs.readdirSync('/proc').map(Number).filter(Number.isInteger);
}

function list(directory: string): string[] {
  return fs.existsSync(directory) ? fs.readdirSync(directory) : [];
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}
