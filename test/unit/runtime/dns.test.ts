import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../src/api/pod.ts';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import type { DnsFacts } from '../../../src/runtime/dns.ts';
import { parseResolvConf, podDns } from '../../../src/runtime/dns.ts';
import { podOf } from '../../support/pods.ts';

const HOST = 'nameserver 192.0.2.53\nsearch example.internal\noptions ndots:1\n';
const host = { servers: ['192.0.2.53'], searches: ['example.internal'], options: ['ndots:1'] };
const standalone: DnsFacts = {
  resolvConf: '/etc/resolv.conf',
  nodeIps: ['10.0.0.2'],
  clusterDNS: [],
  clusterDomain: '',
};
const cluster = { ...standalone, clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local' };
const clustered = {
  servers: ['10.96.0.10'],
  searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.internal'],
  options: ['ndots:5'],
};
const empty = { servers: [], searches: [], options: [] };

const rows: [Partial<PodSpec>, DnsFacts, typeof host | typeof empty][] = [
  [{ dnsPolicy: 'ClusterFirst' }, cluster, clustered],
  [{ dnsPolicy: 'ClusterFirst', hostNetwork: true }, cluster, host],
  [{ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, cluster, clustered],
  [{ dnsPolicy: 'ClusterFirstWithHostNet' }, cluster, clustered],
  [{ dnsPolicy: 'Default' }, cluster, host],
  [{ dnsPolicy: 'None' }, cluster, empty],
  [{ dnsPolicy: 'ClusterFirst' }, standalone, host],
  [
    { dnsPolicy: 'ClusterFirst' },
    { ...cluster, clusterDomain: '' },
    { ...clustered, searches: host.searches },
  ],
  [
    { dnsPolicy: 'Default' },
    { ...standalone, resolvConf: '', nodeIps: ['10.0.0.2', 'fd00::2'] },
    { servers: ['127.0.0.1', '::1'], searches: ['.'], options: [] },
  ],
];
for (const [spec, facts, want] of rows) {
  test(`DNS of ${JSON.stringify(spec)}, cluster DNS ${facts.clusterDNS.join()}`, () => {
    assert.deepEqual(podDns(podOf(spec), facts, HOST).dns, want);
  });
}

test('without cluster DNS the fallback is said, for the pod and the node', () => {
  const { warnings } = podDns(podOf(), standalone, HOST);
  assert.deepEqual(warnings, [
    {
      reason: 'MissingClusterDNS',
      message:
        'pod: "web-edge1_default(uid-1)". kubelet does not have ClusterDNS IP configured and cannot ' +
        'create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
      nodeMessage:
        'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" ' +
        'policy. Falling back to "Default" policy.',
    },
  ]);
  assert.deepEqual(podDns(podOf({ hostNetwork: true }), standalone, HOST).warnings, []);
});

test('dnsConfig is appended, and its options win', () => {
  const dnsConfig = {
    nameservers: ['192.0.2.53', '192.0.2.1'],
    searches: ['ns1.svc', 'example.internal'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
  };
  assert.deepEqual(podDns(podOf({ dnsPolicy: 'Default', dnsConfig }), standalone, HOST).dns, {
    servers: ['192.0.2.53', '192.0.2.1'],
    searches: ['example.internal', 'ns1.svc'],
    options: ['ndots:2', 'edns0'],
  });
});

test('what is over the limits is cut and said', () => {
  const nameservers = ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'];
  const searches = ['x'.repeat(254), ...Array.from({ length: 40 }, (_, i) => `s${i}.example`)];
  const pod = podOf({ dnsPolicy: 'None', dnsConfig: { nameservers, searches } });
  const { dns, warnings } = podDns(pod, standalone, HOST);
  assert.deepEqual(dns.servers, nameservers.slice(0, 3));
  assert.deepEqual(dns.searches, searches.slice(1, 32));
  assert.deepEqual(
    warnings.map(({ reason, message }) => [reason, message]),
    [
      [
        'DNSConfigForming',
        'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver ' +
          'line is: 1.1.1.1 2.2.2.2 3.3.3.3',
      ],
      [
        'DNSConfigForming',
        'Search Line limits were exceeded, some search paths have been omitted, the applied search ' +
          `line is: ${searches.slice(1, 32).join(' ')}`,
      ],
    ],
  );
});

test('a search line that is too long loses domains from its end', () => {
  const searches = Array.from({ length: 12 }, (_, i) => `${i}`.padEnd(200, 'x'));
  const pod = podOf({ dnsPolicy: 'None', dnsConfig: { searches } });
  const { dns } = podDns(pod, standalone, HOST);
  assert.deepEqual(dns.searches, searches.slice(0, 10));
});

test('the resolver file is read as resolvers do', () => {
  const text = [
    '# comment',
    '  nameserver 192.0.2.1 ignored',
    'search old.example',
    'search a.example. . b.example',
    'options ndots:1 edns0',
    'options ndots:7',
    'nameserver\tfd00::53',
    'sortlist 1.2.3.4',
    '',
  ].join('\n');
  assert.deepEqual(parseResolvConf(text), {
    servers: ['192.0.2.1', 'fd00::53'],
    searches: ['a.example', 'b.example'],
    options: ['ndots:7', 'edns0'],
  });
  assert.throws(() => parseResolvConf('nameserver\n'), ConfigError);
});
