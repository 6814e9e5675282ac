import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { amountsText, podLimits, podRequests, qosClass } from '../../../src/api/qos.ts';

interface Sizes {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
  restartPolicy?: 'Always';
}

function pod(containers: Sizes[], init: Sizes[] = [], more: object = {}): Pod {
  const full = ({ restartPolicy, ...resources }: Sizes): object => ({
    name: 'c',
    resources,
    ...(restartPolicy ? { restartPolicy } : {}),
  });
  return {
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { containers: containers.map(full), initContainers: init.map(full), ...more },
    status: {},
  } as unknown as Pod;
}

const both = (cpu: string, memory: string): Sizes => ({
  limits: { cpu, memory },
  requests: { cpu, memory },
});

test('the QoS class follows from cpu and memory of every container', () => {
  const cases: [string, Pod, string][] = [
    ['nothing set', pod([{}]), 'BestEffort'],
    ['only zeros', pod([{ limits: { cpu: '0' }, requests: { cpu: '0' } }]), 'BestEffort'],
    ['only another resource', pod([{ limits: { 'example.com/x': '1' } }]), 'BestEffort'],
    ['all equal', pod([both('1', '1Gi')], [both('500m', '64Mi')]), 'Guaranteed'],
    [
      'equal in another spelling',
      pod([{ ...both('1', '1Gi'), requests: { cpu: '1000m', memory: '1024Mi' } }]),
      'Guaranteed',
    ],
    ['one container without', pod([both('1', '1Gi'), {}]), 'Burstable'],
    ['init container without', pod([both('1', '1Gi')], [{}]), 'Burstable'],
    ['cpu only', pod([{ limits: { cpu: '1' }, requests: { cpu: '1' } }]), 'Burstable'],
    [
      'request below limit',
      pod([{ ...both('1', '1Gi'), requests: { cpu: '500m', memory: '1Gi' } }]),
      'Burstable',
    ],
    ['pod level equal', pod([{}], [], { resources: both('1', '1Gi') }), 'Guaranteed'],
    [
      'pod level replaces containers',
      pod([both('1', '1Gi')], [], { resources: { requests: { cpu: '2' } } }),
      'Burstable',
    ],
  ];
  for (const [name, given, expected] of cases) assert.equal(qosClass(given), expected, name);
});

test('a class in the status is kept', () => {
  const given = pod([{}]);
  given.status.qosClass = 'Guaranteed';
  assert.equal(qosClass(given), 'Guaranteed');
});

test('requests are the larger of the init peak and the steady state', () => {
  const requests = (cpu: string): Sizes => ({ requests: { cpu } });
  const cpu = (given: Pod): string | undefined => amountsText(podRequests(given)).cpu;
  assert.equal(cpu(pod([requests('1'), requests('2')], [requests('500m')])), '3');
  assert.equal(cpu(pod([requests('1')], [requests('4'), requests('2')])), '4');
  // The sidecar runs beside the init container after it, and beside the containers.
  const sidecar: Sizes = { ...requests('1'), restartPolicy: 'Always' };
  assert.equal(cpu(pod([requests('1')], [sidecar, requests('3')])), '4');
  assert.equal(cpu(pod([requests('1')], [requests('3'), sidecar])), '3');
  assert.equal(cpu(pod([requests('5')], [sidecar, requests('3')])), '6');
});

test('pod level amounts replace sums, overhead comes on top of what is there', () => {
  const given = pod([{ limits: { cpu: '1' }, requests: { cpu: '1', memory: '1Gi' } }], [], {
    resources: { requests: { cpu: '3' } },
    overhead: { cpu: '250m', memory: '10Mi' },
  });
  assert.deepEqual(amountsText(podRequests(given)), { cpu: '3250m', memory: '1034Mi' });
  assert.deepEqual(amountsText(podLimits(given)), { cpu: '1250m' });
  const bare = podRequests(given, { withoutOverhead: true, withoutPodLevel: true });
  assert.deepEqual(amountsText(bare), { cpu: '1', memory: '1Gi' });
});
