/**
 * Owns: the counters of network interfaces, of the node and of a pod's network namespace.
 */
import path from 'node:path';
import type { InterfaceStats, NetworkStats } from './model.ts';
import { readText } from './text-file.ts';

/** Loopback, and the host's ends of pods' links: their bytes are counted elsewhere. */
const IGNORED = ['lo', 'veth', 'docker'];
const POD_INTERFACE = 'eth0';
const ROUTE_UP = 1;

/** What a process sees; `procDir` is `/proc/<pid>`, or `/proc` for the agent's own. undefined: none. */
export function readNetwork(
  procDir: string,
  timeMs: number,
  preferred = POD_INTERFACE,
): NetworkStats | undefined {
  const text = readText(path.join(procDir, 'net/dev'));
  if (text === undefined) return undefined;
  const interfaces = parseNetDev(text);
  const chosen = interfaces.find(({ name }) => name === preferred) ?? interfaces[0];
  return { timeMs, interfaces, ...(chosen && { default: chosen }) };
}

export function parseNetDev(text: string): InterfaceStats[] {
  const found: InterfaceStats[] = [];
  for (const line of text.split('\n')) {
    const colon = line.lastIndexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).trim();
    if (name === '' || IGNORED.some((prefix) => name.startsWith(prefix))) continue;
    const n = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    if (n.length < 16 || n.some(Number.isNaN)) continue;
    const at = (index: number): number => n[index] ?? 0;
    found.push({
      ...{ name, rxBytes: at(0), rxPackets: at(1), rxErrors: at(2), rxDropped: at(3) },
      ...{ txBytes: at(8), txPackets: at(9), txErrors: at(10), txDropped: at(11) },
    });
  }
  return found;
}

/** The interface of the default route with the lowest metric, of IPv4. */
export function defaultInterface(procDir: string): string | undefined {
  const routes = (readText(path.join(procDir, 'net/route')) ?? '')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((f) => f[1] === '00000000' && f[7] === '00000000')
    .filter((f) => (Number.parseInt(f[3] ?? '0', 16) & ROUTE_UP) !== 0)
    .sort((a, b) => Number(a[6]) - Number(b[6]));
  return routes[0]?.[0];
}
