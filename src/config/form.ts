/**
 * Owns: strings with a form of their own: addresses, quantities, thresholds, endpoints.
 */
import { isIP } from 'node:net';
import { parseQuantity } from '../api/quantity.ts';
import { parseDuration } from './duration.ts';
import type { StringForm } from './schema.ts';

/** What was expected instead, or undefined when the string has the form. */
export function formProblem(value: string, form: StringForm): string | undefined {
  switch (form) {
    case 'path':
      return value.includes('\0') ? 'a path' : undefined;
    case 'quantity':
      return isQuantity(value) ? undefined : 'a quantity such as "500m" or "100Mi", not negative';
    case 'signed-quantity':
      return parseQuantity(value) ? undefined : 'a quantity such as "10Mi"; negative: no limit';
    case 'ip':
      return isIP(value) ? undefined : 'an IP address';
    case 'cidr':
      return value.split(',').every(isCidr) ? undefined : 'a subnet such as 10.88.0.0/16';
    case 'endpoint':
      return isEndpoint(value) ? undefined : 'unix:// and the absolute path of a socket';
    case 'threshold':
      return isThreshold(value) ? undefined : 'a quantity such as "100Mi", above 0, or "10%"';
    case 'reclaim':
      return isReclaim(value) ? undefined : 'a quantity such as "100Mi", or "1%", above 0';
    case 'duration':
      return (parseDuration(value) ?? -1) >= 0 ? undefined : 'a duration such as "1m30s"';
  }
}

/** An IPv4 or IPv6 subnet in CIDR form. */
export function isCidr(value: string): boolean {
  const [address = '', prefix = '', ...more] = value.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0 || !/^\d{1,3}$/.test(prefix)) return false;
  return Number(prefix) <= (family === 4 ? 32 : 128);
}

function isQuantity(value: string, least = 0n): boolean {
  const quantity = parseQuantity(value);
  return quantity !== undefined && quantity.nano >= least;
}

/** The kubelet takes a bare path too. */
function isEndpoint(value: string): boolean {
  return /^(unix:\/\/)?\/[^\0]+$/.test(value);
}

/** Spec: eviction.md §2. `0%` and `100%` switch a signal off, `0` is a mistake. */
function isThreshold(value: string): boolean {
  const percent = percentOf(value);
  return percent === undefined ? isQuantity(value, 1n) : percent <= 100;
}

function isReclaim(value: string): boolean {
  const percent = percentOf(value);
  return percent === undefined ? isQuantity(value) : percent > 0 && percent <= 100;
}

function percentOf(value: string): number | undefined {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(value)?.[1];
  return percent === undefined ? undefined : Number(percent);
}
