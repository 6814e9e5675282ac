import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { exponentialBuckets } from '../../../src/metrics/histogram.ts';
import { Registry } from '../../../src/metrics/registry.ts';

test('a scrape reads as Prometheus expects', () => {
  const registry = new Registry();
  const pods = registry.gauge('pods', 'Pods by state.', ['state']);
  const calls = registry.counter('calls_total', 'Calls.');
  const took = registry.histogram('took_seconds', 'Durations.', [0.1, 1], ['verb']);
  pods.set(2, { state: 'running' });
  pods.inc({ state: 'dead' });
  pods.dec({ state: 'running' });
  calls.inc();
  calls.inc({}, 2.5);
  for (const value of [0.1, 0.5, 7]) took.observe(value, { verb: 'get' });
  assert.equal(
    registry.expose(),
    `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total 3.5
# HELP pods Pods by state.
# TYPE pods gauge
pods{state="dead"} 1
pods{state="running"} 1
# HELP took_seconds Durations.
# TYPE took_seconds histogram
took_seconds_bucket{verb="get",le="0.1"} 1
took_seconds_bucket{verb="get",le="1"} 2
took_seconds_bucket{verb="get",le="+Inf"} 3
took_seconds_sum{verb="get"} 7.6
took_seconds_count{verb="get"} 3
`,
  );
});

test('a metric without labels is there from the start, one with labels is not', () => {
  const registry = new Registry();
  registry.counter('a_total', 'A.');
  registry.counter('b_total', 'B.', ['x']);
  registry.histogram('c_seconds', 'C.', [1]);
  assert.equal(
    registry.expose().replaceAll(/^#.*\n/gm, ''),
    'a_total 0\nc_seconds_bucket{le="1"} 0\nc_seconds_bucket{le="+Inf"} 0\nc_seconds_sum 0\nc_seconds_count 0\n',
  );
});

test('series go when what they are about is gone', () => {
  const registry = new Registry();
  const gauge = registry.gauge('g', 'G.', ['pod', 'uid']);
  gauge.set(1, { pod: 'a', uid: '1' });
  gauge.set(1, { uid: '2', pod: 'b' });
  gauge.remove({ pod: 'a', uid: '1' });
  assert.match(registry.expose(), /^# HELP g G\.\n# TYPE g gauge\ng\{pod="b",uid="2"\} 1\n$/);
  gauge.clear();
  assert.equal(registry.expose(), '');
});

test('odd numbers have the names that Prometheus reads', () => {
  const registry = new Registry();
  const gauge = registry.gauge('g', 'G.', ['n']);
  [Infinity, -Infinity, NaN, 1e21, -0.5].forEach((n, i) => gauge.set(n, { n: String(i) }));
  const values = registry.expose().match(/(?<=\} ).*/g);
  assert.deepEqual(values, ['+Inf', '-Inf', 'NaN', '1e+21', '-0.5']);
});

/** What a scraper makes of a label value. */
function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
}

test('any label value survives, on one line, without touching another', () => {
  const label = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', '\\', '\n', 'n', ',') }),
  );
  fc.assert(
    fc.property(label, label, (a, b) => {
      const registry = new Registry();
      const gauge = registry.gauge('g', 'G.', ['a', 'b']);
      gauge.set(1, { a, b });
      gauge.set(2, { a: `${a}.`, b });
      const lines = registry
        .expose()
        .split('\n')
        .filter((line) => line.startsWith('g{'));
      assert.equal(lines.length, 2);
      const found = lines.map((line) =>
        /^g\{a="((?:[^"\\]|\\.)*)",b="((?:[^"\\]|\\.)*)"\} (\d)$/.exec(line),
      );
      const seen = new Map(
        found.map((m) => [m?.[3], [m?.[1] ?? '?', m?.[2] ?? '?'].map(unescape)]),
      );
      assert.deepEqual(seen.get('1'), [a, b]);
      assert.deepEqual(seen.get('2'), [`${a}.`, b]);
    }),
  );
});

test('buckets hold what is at most their bound, each more than the one before', () => {
  const value = fc.double({ min: -10, max: 1000, noNaN: true });
  fc.assert(
    fc.property(fc.array(value, { minLength: 1 }), (values) => {
      const registry = new Registry();
      const bounds = exponentialBuckets(0.5, 2, 8);
      const histogram = registry.histogram('h', 'H.', bounds);
      for (const v of values) histogram.observe(v);
      const counts = [...registry.expose().matchAll(/le="([^"]+)"\} (\d+)/g)];
      assert.equal(counts.length, 9);
      for (const [, le, count] of counts) {
        const bound = le === '+Inf' ? Infinity : Number(le);
        assert.equal(Number(count), values.filter((v) => v <= bound).length);
      }
    }),
  );
});

test('help is on one line', () => {
  const registry = new Registry();
  registry.counter('c', 'a\\b\nc');
  assert.match(registry.expose(), /^# HELP c a\\\\b\\nc\n/);
});

test('asking again gives the same metric, asking for another of that name fails', () => {
  const registry = new Registry();
  registry.counter('c', 'C.', ['x']).inc({ x: '1' });
  registry.counter('c', 'C.', ['x']).inc({ x: '1' });
  assert.match(registry.expose(), /c\{x="1"\} 2/);
  assert.throws(() => registry.gauge('c', 'C.', ['x']));
  assert.throws(() => registry.counter('c', 'C.', ['y']));
});

test('a caller with the wrong labels, names or amounts is told', () => {
  const registry = new Registry();
  const counter = registry.counter('c', 'C.', ['x']);
  assert.throws(() => counter.inc());
  assert.throws(() => counter.inc({ x: '1', y: '2' }));
  assert.throws(() => counter.inc({ x: '1' }, -1));
  assert.throws(() => registry.counter('not a name', ''));
  assert.throws(() => registry.counter('d', '', ['__reserved']));
  assert.throws(() => registry.histogram('h', '', [1, 1]));
});
