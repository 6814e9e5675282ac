import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import { podHostname, sandboxHostname } from '../../../src/runtime/hostname.ts';
import { hostsText } from '../../../src/runtime/hosts.ts';
import { podOf } from '../../support/pods.ts';

test('the name is the pod’s unless the spec has one', () => {
  assert.deepEqual(podHostname(podOf(), 'cluster.local'), { host: 'web-edge1', domain: '' });
  assert.equal(podHostname(podOf({ hostname: 'h' }), '').host, 'h');
  assert.deepEqual(podHostname(podOf({ hostnameOverride: 'o.p', subdomain: 's' }), 'x'), {
    host: 'o.p',
    domain: '',
  });
});

test('a long name is cut to 63, then its trailing dashes and dots go', () => {
  const named = (name: string) => podHostname(podOf({}, 'u', name), '').host;
  assert.equal(named('a'.repeat(70)), 'a'.repeat(63));
  assert.equal(named(`${'a'.repeat(61)}-.${'b'.repeat(9)}`), 'a'.repeat(61));
  assert.equal(named(`${'a'.repeat(61)}-b`), `${'a'.repeat(61)}-b`);
});

test('a subdomain makes a domain', () => {
  const pod = podOf({ hostname: 'h', subdomain: 'sub' });
  assert.equal(podHostname(pod, 'cluster.local').domain, 'sub.default.svc.cluster.local');
  assert.equal(podHostname(pod, '').domain, 'sub.default.svc');
});

test('the kernel’s name is the full one only when asked for', () => {
  const spec = { hostname: 'h', subdomain: 'sub' };
  assert.equal(sandboxHostname(podOf(spec), 'c'), 'h');
  assert.equal(
    sandboxHostname(podOf({ ...spec, setHostnameAsFQDN: true }), 'c'),
    'h.sub.default.svc.c',
  );
  assert.equal(sandboxHostname(podOf({ ...spec, hostNetwork: true }), 'c'), '');
});

test('a full name that the kernel cannot take is refused', () => {
  const pod = podOf({ hostname: 'h'.repeat(50), subdomain: 'sub', setHostnameAsFQDN: true });
  assert.throws(() => sandboxHostname(pod, 'cluster.local'), ConfigError);
});

const HEAD = [
  '# Kubernetes-managed hosts file.',
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

test('the hosts file has a line for each address, and aliases only when there are any', () => {
  const podIps = ['10.88.0.5', 'fd00::5'];
  const plain = hostsText({ pod: podOf(), podIps, clusterDomain: 'c', hostFile: undefined });
  assert.equal(plain, [...HEAD, '10.88.0.5\tweb-edge1', 'fd00::5\tweb-edge1', ''].join('\n'));
  const pod = podOf({
    hostname: 'h',
    subdomain: 'sub',
    hostAliases: [{ ip: '10.1.2.3', hostnames: ['foo.local', 'bar.local'] }],
  });
  const full = hostsText({ pod, podIps: ['10.88.0.5'], clusterDomain: 'c', hostFile: undefined });
  const lines = [
    ...HEAD,
    '10.88.0.5\th.sub.default.svc.c\th',
    '',
    '# Entries added by HostAliases.',
    '10.1.2.3\tfoo.local\tbar.local',
    '',
  ];
  assert.equal(full, lines.join('\n'));
});

test('on the host’s network the node’s own file is kept as it is', () => {
  const pod = podOf({ hostNetwork: true, hostAliases: [{ ip: '1.1.1.1', hostnames: ['a'] }] });
  const text = hostsText({ pod, podIps: [], clusterDomain: '', hostFile: '127.0.0.1 localhost\n' });
  assert.equal(
    text,
    '# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n' +
      '\n# Entries added by HostAliases.\n1.1.1.1\ta\n',
  );
});
