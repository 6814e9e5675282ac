import assert from 'node:assert/strict';
import test from 'node:test';
import { validateKubelet } from '../../../src/config/validate.ts';
import { HEAD, faults, load } from './support.ts';

const WRONG: [string, string][] = [
  ['enforceNodeAllocatable: [pods, pods]', 'enforceNodeAllocatable'],
  ['enforceNodeAllocatable: [none, pods]', 'enforceNodeAllocatable'],
  ['cgroupsPerQOS: false\nenforceNodeAllocatable: [pods]', 'enforceNodeAllocatable'],
  ['enforceNodeAllocatable: [kube-reserved]', 'kubeReservedCgroup'],
  [
    'systemReservedCgroup: /s\nenforceNodeAllocatable: [system-reserved, system-reserved-compressible]',
    'enforceNodeAllocatable',
  ],
  ['systemReservedCgroup: /s\nreservedSystemCPUs: "0"', 'reservedSystemCPUs'],
  ['systemCgroups: /s', 'cgroupRoot'],
  ['imageGCHighThresholdPercent: 70', 'imageGCLowThresholdPercent'],
  ['imageMaximumGCAge: 1m', 'imageMaximumGCAge'],
  ['preloadedImagesVerificationAllowlist: [a]', 'preloadedImagesVerificationAllowlist'],
  ['podLogsDir: logs', 'podLogsDir'],
  ['podLogsDir: /var/log/../x', 'podLogsDir'],
  [
    'shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s',
    'shutdownGracePeriodCriticalPods',
  ],
  [
    'shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]',
    'shutdownGracePeriodByPodPriority',
  ],
  ['allowedUnsafeSysctls: [vm.swappiness]', 'allowedUnsafeSysctls'],
  ['evictionSoft: {memory.available: 1Gi}', 'evictionSoft'],
  ['runOnce: true', 'runOnce'],
  ['enableSystemLogHandler: false\nenableSystemLogQuery: true', 'enableSystemLogQuery'],
  ['podCIDR: 10.0.0.0/8,10.1.0.0/16', 'podCIDR'],
  ['userNamespaces: {idsPerPod: 1000}', 'userNamespaces.idsPerPod'],
];

test('rules over several fields name the field and its line', async (t) => {
  for (const [text, field] of WRONG)
    await t.test(text.replaceAll('\n', ' '), () => {
      const [line = '', ...more] = faults(HEAD + text);
      assert.deepEqual(more, []);
      assert.ok(new RegExp(`^\\d+: ${field.replace('.', '\\.')}: found `).test(line), line);
    });
});

test('the right ones pass', () => {
  load(
    `${HEAD}enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /k\nallowedUnsafeSysctls: ["kernel.msg*", net.core.somaxconn]\nimageMaximumGCAge: 24h\nshutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\nevictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m}\nuserNamespaces: {idsPerPod: 131072}`,
  );
});

test('nothing written breaks no rule', () => {
  assert.deepEqual(validateKubelet({}), []);
});
