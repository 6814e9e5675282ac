import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../src/api/pod.ts';
import { Annotation } from '../../../src/api/reasons.ts';
import { shortages } from '../../../src/pod/admission-resources.ts';
import { roomFor } from '../../../src/pod/preemption.ts';
import { admissionNodeOf } from '../../support/admission.ts';
import { containerOf, podOf } from '../../support/pods.ts';

type Requests = Record<string, string>;

function asking(name: string, requests: Requests, spec: Partial<PodSpec> = {}): Pod {
  const pod = podOf({ containers: [containerOf('c', { resources: { requests } })], ...spec }, name);
  pod.metadata.annotations = { [Annotation.configSource]: 'file' };
  return pod;
}

/** With limits that are the requests: Guaranteed. */
function guaranteed(name: string, requests: Requests): Pod {
  const resources = { requests, limits: requests };
  return podOf({ containers: [containerOf('c', { resources })] }, name);
}

/** Names of the victims on a node with 8 CPUs and 8 GiB; undefined: not enough. */
function victims(
  pod: Pod,
  others: Pod[],
  { maxPods = 110, staticPodEviction = true, leaving = [] as string[] } = {},
): string[] | undefined {
  const { allocatable } = admissionNodeOf();
  const node = { allocatable: { ...allocatable, memory: 8 * 2 ** 30 }, maxPods };
  const short = shortages(pod, others, node);
  const options = { leaving: new Set(leaving), staticPodEviction };
  const room = roomFor(pod, short, others, options);
  return room.kind === 'victims' ? room.victims.map((p) => p.metadata.uid) : undefined;
}

const CRITICAL = { priority: 2_000_000_000 };

test('the lesser class gives first, the better one only what is still missing', () => {
  const bestEffort = asking('b', {});
  const burstable = asking('u', { cpu: '4' });
  const sure = guaranteed('g', { cpu: '4', memory: '1Gi' });
  const pods = [sure, burstable, bestEffort];
  assert.deepEqual(victims(asking('new', { cpu: '3' }, CRITICAL), pods), ['u']);
  assert.deepEqual(victims(asking('new', { cpu: '5' }, CRITICAL), pods), ['u', 'g']);
  // A place is what a pod without requests gives as well as any other.
  assert.deepEqual(victims(asking('new', {}, CRITICAL), pods, { maxPods: 3 }), ['b']);
});

test('the nearest to what is needed goes, each need counting the same; then the smaller one', () => {
  const small = asking('small', { cpu: '1' });
  const half = asking('half', { cpu: '2' });
  const large = asking('large', { cpu: '5' });
  assert.deepEqual(victims(asking('new', { cpu: '2' }, CRITICAL), [small, large, half]), ['half']);
  assert.deepEqual(victims(asking('new', { cpu: '6' }, CRITICAL), [small, large, half]), [
    'large',
    'small',
  ]);
  const both = asking('both', { cpu: '2', memory: '2Gi' });
  const cpu = asking('cpu', { cpu: '6' });
  const memory = asking('memory', { memory: '6Gi' });
  const wanted = asking('new', { cpu: '2', memory: '2Gi' }, CRITICAL);
  assert.deepEqual(victims(wanted, [cpu, memory, both]), ['both']);
  const heavy = asking('heavy', { cpu: '4', memory: '2Gi' });
  const light = asking('light', { cpu: '4', memory: '1Gi' });
  assert.deepEqual(victims(asking('new', { cpu: '1' }, CRITICAL), [heavy, light]), ['light']);
});

test('critical pods are no victims, and with the kubelet’s rule only a smaller number is', () => {
  const full = { cpu: '8' };
  const wanted = asking('new', full, CRITICAL);
  assert.equal(victims(wanted, [asking('a', full, { priority: 2_000_000_001 })]), undefined);
  assert.equal(
    victims(wanted, [asking('a', full, { priorityClassName: 'system-node-critical' })]),
    undefined,
  );
  assert.deepEqual(victims(wanted, [asking('a', full, { priority: 1_999_999_999 })]), ['a']);
  const old = { staticPodEviction: false };
  assert.equal(victims(wanted, [asking('a', full)], old), undefined);
  assert.deepEqual(victims(wanted, [asking('a', full, { priority: 5 })], old), ['a']);
  assert.deepEqual(
    victims(asking('new', full, { priority: 6 }), [asking('a', full, { priority: 5 })], old),
    ['a'],
  );
});

test('what a pod that ends gives back anyway is asked of nobody else', () => {
  const others = [asking('going', { cpu: '4' }), asking('staying', { cpu: '4' })];
  const wanted = (cpu: string) => asking('new', { cpu }, CRITICAL);
  assert.deepEqual(victims(wanted('4'), others, { leaving: ['going'] }), []);
  assert.deepEqual(victims(wanted('5'), others, { leaving: ['going'] }), ['staying']);
});
