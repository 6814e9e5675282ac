/**
 * Owns: the address of the node when nobody named one: that of the default route's interface, else the
 * first global one of a real interface, else the loopback address.
 */
import fs from 'node:fs';
import path from 'node:path';

/** As `os.networkInterfaces()` answers. */
export type NodeInterfaces = Readonly<Record<string, readonly InterfaceAddress[] | undefined>>;

export interface InterfaceAddress {
  readonly address: string;
  readonly family: string;
  readonly internal: boolean;
}

export interface NodeIpRoots {
  readonly proc: string;
  readonly sys: string;
  readonly interfaces: () => NodeInterfaces;
}

/** Bits of the flags column of /proc/net/route. */
const ROUTE_UP = 1;
const ROUTE_GATEWAY = 2;

/**
 * Primary first, at most one address of each family. Never empty: a node that is not (yet) on a network
 * runs its pods all the same.
 */
export function detectNodeIps(roots: NodeIpRoots): string[] {
  const interfaces = roots.interfaces();
  const route = defaultRouteInterface(path.join(roots.proc, 'net/route'));
  const names = Object.keys(interfaces).filter((name) => !isVirtual(roots.sys, name));
  const candidates = route === undefined ? names : [route, ...names.filter((n) => n !== route)];
  for (const name of candidates) {
    const ips = bothFamilies(interfaces[name] ?? []);
    if (ips.length > 0) return ips;
  }
  return ['127.0.0.1'];
}

function bothFamilies(addresses: readonly InterfaceAddress[]): string[] {
  const global = addresses.filter((a) => !a.internal && isGlobal(a.address));
  const first = (family: string): string[] =>
    global
      .filter((a) => a.family === family)
      .map((a) => a.address)
      .slice(0, 1);
  return [...first('IPv4'), ...first('IPv6')];
}

/** Global unicast in the sense of routers: private ranges count, link-local ones do not. */
function isGlobal(address: string): boolean {
  if (address.includes(':')) return !/^(fe[89ab]|ff|::1$|::$)/i.test(address);
  return !/^(0\.|127\.|169\.254\.|2[2-5][4-9]\.|2[3-5]\d\.)/.test(address);
}

/** The bridges and pairs of pods have addresses too, but not the node's. */
function isVirtual(sys: string, name: string): boolean {
  if (/^(lo|veth|cni|docker|br-|virbr|flannel|cali)/.test(name)) return true;
  return fs.existsSync(path.join(sys, 'class/net', name, 'bridge'));
}

/** Of the default routes that are up, the one with the lowest metric. */
function defaultRouteInterface(file: string): string | undefined {
  let text = '';
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  let best: { name: string; metric: number } | undefined;
  for (const line of text.split('\n').slice(1)) {
    const [name, destination, , flags, , , metric, mask] = line.trim().split(/\s+/);
    if (!name || destination !== '00000000' || mask !== '00000000') continue;
    const bits = Number.parseInt(flags ?? '', 16);
    if (!(bits & ROUTE_UP) || !(bits & ROUTE_GATEWAY)) continue;
    if (!best || Number(metric) < best.metric) best = { name, metric: Number(metric) };
  }
  return best?.name;
}
