import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { KUBELET_FIELDS } from '../../../src/config/kubelet-fields.ts';
import { codeOf, messageOf } from '../../../src/util/errors.ts';
import { HEAD, ISLET_HEAD, faults, load } from './support.ts';

/** Text after the two head lines → what is reported: line, field, found. */
const WRONG: [string, string, RegExp][] = [
  ['staticPodpath: /x', 'unknown field, other case', /^3: staticPodpath: .*staticPodPath/],
  ['zebra: 1', 'unknown field', /^3: zebra: found an unknown field, expected /],
  ['syncFrequency: 10', 'number for a duration', /^3: syncFrequency: found 10, expected a dur/],
  ['syncFrequency: 5q', 'bad duration', /^3: syncFrequency: found "5q", expected a duration/],
  ['syncFrequency: -5s', 'negative duration', /^3: syncFrequency: found "-5s", .*not negative/],
  ['maxPods: "10"', 'text for a number', /^3: maxPods: found "10", expected a whole number/],
  ['maxPods: 1.5', 'fraction', /^3: maxPods: found 1.5, expected a whole number/],
  ['port: 70000', 'out of range', /^3: port: found 70000, expected .* from 0 to 65535/],
  ['failSwapOn: "no"', 'text for a truth value', /^3: failSwapOn: found "no", .*true or false/],
  ['cgroupDriver: cgroup2', 'not one of', /found "cgroup2", expected cgroupfs or systemd/],
  ['clusterDNS: 10.0.0.1', 'no list', /^3: clusterDNS: found "10.0.0.1", expected a list/],
  [
    'authentication:\n  x509: {clientCA: a}',
    'deeper',
    /^4: authentication.x509.clientCA: .*clientCAFile/,
  ],
  [
    'evictionHard:\n  memory.available: 1x',
    'threshold',
    /^4: evictionHard\["memory.available"\]: found "1x"/,
  ],
  [
    'evictionHard:\n  memory.available: 101%',
    'more than all',
    /^4: evictionHard\["memory.available"\]: found "101%", expected a quantity such as "100Mi", above 0, or "10%"/,
  ],
  ['evictionSoft: {pid.available: "0"}', 'nothing', /^3: evictionSoft.*found "0", .*above 0/],
  ['evictionMinimumReclaim: {nodefs.available: 0%}', 'no share', /^3: evictionMin.*found "0%"/],
  ['evictionSoftGracePeriod: {pid.available: -1s}', 'before', /^3: evictionSoftGrace.*found "-1s"/],
  ['evictionHard:\n  memory.avail: 1Gi', 'signal', /^4: evictionHard.*memory.available/],
  ['systemReserved: {gpu: "1"}', 'resource', /^3: systemReserved.gpu: .*cpu or memory/],
  [
    'registerWithTaints:\n- key: a\n- effect: Never',
    'in a list',
    /^5: registerWithTaints\[1\].effect: /,
  ],
  ['address: localhost', 'no address', /^3: address: found "localhost", expected an IP/],
  ['podCIDR: 10.0.0.0', 'no subnet', /^3: podCIDR: found "10.0.0.0", expected a subnet/],
  ['containerLogMaxSize: 10Mb', 'no quantity', /^3: containerLogMaxSize: found "10Mb"/],
  ['containerRuntimeEndpoint: tcp://1.2.3.4', 'no socket', /^3: containerRuntimeEndpoint: .*unix/],
  ['logging: []', 'list for a mapping', /^3: logging: found \[\], expected a mapping/],
  ['maxPods: 1\nmaxPods: 2', 'twice', /^4: found a syntax error .*expected YAML or JSON/],
  ['maxPods: [1', 'no YAML', /^\d+: found a syntax error/],
  ['a: &a [x]\nb: *c', 'no such anchor', /^\d+: found a syntax error/],
];

test('every fault is one line with line, field, found and expected', async (t) => {
  for (const [text, name, line] of WRONG)
    await t.test(name, () => {
      const found = faults(HEAD + text);
      assert.ok(
        found.some((f) => line.test(f)),
        `${found.join('\n')} does not match ${line}`,
      );
      for (const f of found) assert.match(f, /^\d+: .*found .+, expected .+/);
    });
});

test('all faults are reported together, in the order of the lines', () => {
  const lines = faults(`${HEAD}zebra: 1\nmaxPods: -1\nport: x\n`);
  assert.deepEqual(
    lines.map((line) => line.split(':')[0]),
    ['3', '4', '5'],
  );
});

test('kind and apiVersion are checked, each kind may appear once', () => {
  assert.match(
    faults('kind: KubeletConfiguration')[0] ?? '',
    /apiVersion: found null, expected kub/,
  );
  assert.match(faults('apiVersion: v1\nkind: Pod')[0] ?? '', /^2: kind: found "Pod", expected Kub/);
  assert.match(faults('- 1')[0] ?? '', /^1: found \[1\], expected a mapping/);
  assert.match(faults(`${HEAD}---\n${HEAD}`)[0] ?? '', /^5: kind: found a second/);
  assert.match(
    faults(`${ISLET_HEAD}containerd: own`)[0] ?? '',
    /^3: containerd: .*auto or managed/,
  );
});

test('two documents in any order, with comments, a byte order mark and CRLF', () => {
  const text = `\uFEFF# first\n${ISLET_HEAD}maxParallelStarts: 3\n---\n# none\n---\n${HEAD}maxPods: 7`;
  const config = load(text.replaceAll('\n', '\r\n'));
  assert.equal(config.islet.maxParallelStarts, 3);
  assert.equal(config.kubelet.maxPods, 7);
});

test('YAML 1.1: octal numbers, yes and no, merge keys; null is absent', () => {
  const config = load(
    `${HEAD}port: 0100\nfailSwapOn: no\nmaxPods:\nsystemReserved: &r {cpu: 100m}\nkubeReserved: {<<: *r, pid: "5"}`,
  );
  assert.equal(config.kubelet.port, 64);
  assert.equal(config.kubelet.failSwapOn, false);
  assert.equal(config.kubelet.maxPods, 110);
  assert.deepEqual(config.kubelet.kubeReserved, { cpu: '100m', pid: '5' });
});

test('a fault below an alias is told at the line that is written there', () => {
  const lines = faults(`${HEAD}systemReserved: &r\n  gpu: "1"\nkubeReserved: *r`);
  assert.match(lines[0] ?? '', /^4: systemReserved.gpu/);
  assert.match(lines[1] ?? '', /^5: kubeReserved.gpu/);
});

test('JSON is read too, with the line of the fault', () => {
  const fields = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  assert.equal(load(JSON.stringify({ ...fields, maxPods: 3 })).kubelet.maxPods, 3);
  assert.match(
    faults(JSON.stringify({ ...fields, maxPods: 'x' }, null, 1))[0] ?? '',
    /^4: maxPods: /,
  );
});

test('an alias bomb is a fault, not a hang', () => {
  const levels = 'bcdefghij'.split('').map((name, index) => {
    const before = `*${'abcdefghi'[index]}`;
    return `${name}: &${name} [${Array.from({ length: 9 }, () => before).join(',')}]`;
  });
  assert.match(faults(`${HEAD}a: &a [x]\n${levels.join('\n')}`)[0] ?? '', /syntax error/);
});

test('whatever the fields hold, the answer is a configuration or a list of faults', () => {
  const name = fc.constantFrom(...Object.keys(KUBELET_FIELDS), '__proto__', 'constructor', 'x');
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('1m', '10%', '5Mi', '/a', '', 0, -1, []));
  const pairs = fc.array(fc.tuple(name, value), { maxLength: 6 });
  fc.assert(
    fc.property(pairs, (fields) => {
      const lines = fields.map(([key, held]) => `${JSON.stringify(key)}: ${JSON.stringify(held)}`);
      try {
        assert.ok(Object.isFrozen(load(HEAD + lines.join('\n'))));
      } catch (error) {
        assert.equal(codeOf(error), 'invalid', String(error));
        for (const line of messageOf(error).split('\n'))
          assert.match(line, /config\.yaml:\d+: .*found .+, expected .+/);
      }
    }),
    { numRuns: 300 },
  );
});

const spec = path.resolve(import.meta.dirname, '../../../../../shared/spec/config.md');
test(
  'every field that the specification names is known',
  { skip: fs.existsSync(spec) ? false : '../shared is not there' },
  () => {
    const section = fs.readFileSync(spec, 'utf8').split('## 3.')[1]?.split('## 4.')[0] ?? '';
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const names = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([a-z][A-Za-z0-9]+)/g)].map(
        (match) => match[1] ?? '',
      ),
    );
    assert.ok(names.length > 80, `only ${names.length} found`);
    for (const name of names) assert.ok(name in KUBELET_FIELDS, `${name} is not known`);
  },
);
