import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bootTimeMs, readMachine, readPids } from '../../../src/stats/machine.ts';
import { defaultInterface, readNetwork } from '../../../src/stats/network.ts';
import { parsePressure } from '../../../src/stats/pressure.ts';
import { CpuRates } from '../../../src/stats/rate.ts';
import { netDev, procFiles, tree } from './support.ts';

test('a rate is nanoseconds per second between two samples', () => {
  const rates = new CpuRates();
  const at = (ms: number, usage: number): number | undefined =>
    rates.withRate('/a', { timeMs: 0, usageCoreNanoSeconds: usage }, ms).usageNanoCores;
  assert.equal(at(1000, 5_000_000), undefined, 'one sample is none');
  assert.equal(rates.has('/a', 1400), false);
  assert.equal(rates.has('/a', 1500), true);
  assert.equal(at(3000, 505_000_000), 250_000_000, 'half a second of CPU in two');
  assert.equal(at(3100, 605_000_000), 250_000_000, 'too soon for another: the last one counts');
  assert.equal(at(4000, 605_000_000), 100_000_000, 'measured from the last base');
  assert.equal(at(5000, 10), undefined, 'a counter that went back is that of a new cgroup');
  assert.equal(at(6000, 1_000_010), 1_000_000);
  assert.equal(
    at(6000 + 120_001, 2_000_000),
    undefined,
    'an average over long says nothing of now',
  );
});

test('a forgotten cgroup starts anew', () => {
  const rates = new CpuRates();
  const cpu = (usage: number) => ({ timeMs: 0, usageCoreNanoSeconds: usage });
  rates.withRate('/a', cpu(0), 0);
  rates.withRate('/b', cpu(0), 0);
  rates.retain((cgroup) => cgroup === '/b');
  assert.deepEqual([rates.has('/a', 1000), rates.has('/b', 1000)], [false, true]);
});

test('the machine: memory, swap, boot, process ids', (t) => {
  const proc = tree(t, procFiles());
  assert.deepEqual(readMachine(proc), {
    memoryCapacity: 8 * 2 ** 30,
    swapCapacity: 2 * 2 ** 20,
    swapFree: 2 ** 20,
  });
  assert.equal(bootTimeMs(proc), 1_700_000_000_000);
  assert.deepEqual(readPids(proc), { max: 31_000, current: 345 });
});

test('the interface of the best default route stands for the node', (t) => {
  const proc = tree(t, procFiles());
  assert.equal(defaultInterface(proc), 'wlan0');
  const network = readNetwork(proc, 9, 'wlan0');
  assert.deepEqual(network?.default, {
    ...{ name: 'wlan0', rxBytes: 7, rxPackets: 2, rxErrors: 3, rxDropped: 4 },
    ...{ txBytes: 70, txPackets: 5, txErrors: 6, txDropped: 7 },
  });
  assert.deepEqual(
    network?.interfaces.map(({ name }) => name),
    ['wlan0', 'eth0'],
    'neither loopback nor the ends of pods',
  );
});

test('a pod without eth0 shows what it has; a process that is gone shows nothing', (t) => {
  const proc = tree(t, { 'net/dev': netDev({ lo: 1, 'net1.5': 3 }) });
  assert.equal(readNetwork(proc, 0)?.default?.name, 'net1.5');
  assert.equal(readNetwork(`${proc}/4711`, 0), undefined);
});

test('pressure without a full line, and none at all', () => {
  const some = 'some avg10=0.12 avg60=0.05 avg300=0.01 total=12345';
  assert.deepEqual(parsePressure(some), {
    some: { avg10: 0.12, avg60: 0.05, avg300: 0.01, total: 12_345 },
  });
  assert.equal(parsePressure(''), undefined);
  assert.equal(parsePressure('some nonsense'), undefined);
});
