import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigObjectKey } from '../../../src/api/config-object.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { PodStatus } from '../../../src/api/status.ts';
import type { RuntimeContainerStatus } from '../../../src/runtime/model.ts';
import { generatePodStatus } from '../../../src/status/generate.ts';
import { condition, container, exited, input, pod, record, runtime, sandbox } from './make.ts';

const status = (
  made: Pod,
  records: RuntimeContainerStatus[],
  previous: PodStatus = {},
): PodStatus => generatePodStatus(input({ pod: made, runtime: runtime(records), previous }));

const why = (made: PodStatus, type: string): unknown[] => {
  const { status: value, reason, message } = condition(made, type);
  return [value, reason, message];
};

describe('conditions', () => {
  it('names the init containers that have not passed', () => {
    const made = pod({
      initContainers: [
        container('i1'),
        container('i2'),
        container('s', { restartPolicy: 'Always' }),
      ],
    });
    assert.deepEqual(why(status(made, [exited('i1', 0), record('i2', 'running')]), 'Initialized'), [
      'False',
      'ContainersNotInitialized',
      'containers with incomplete status: [i2 s]',
    ]);
  });

  it('counts sidecars among the containers that have to be ready', () => {
    const made = pod({
      containers: [container('b'), container('a')],
      initContainers: [container('s', { restartPolicy: 'Always' })],
    });
    const expected = ['False', 'ContainersNotReady', 'containers with unready status: [s a]'];
    const now = status(made, [exited('s', 1), record('b', 'running')]);
    assert.deepEqual(why(now, 'ContainersReady'), expected);
    assert.deepEqual(why(now, 'Ready'), expected);
  });

  it('says which ConfigMaps and Secrets are missing, for as long as one is', () => {
    const type = 'islet.dev/ConfigObjectsFound';
    const key = { namespace: 'default', name: 'greeting' };
    const of = (missingObjects: ConfigObjectKey[], previous: PodStatus, exits = false): PodStatus =>
      generatePodStatus(
        input({
          pod: pod({ restartPolicy: 'Never' }),
          runtime: runtime([exits ? exited('app', 0) : record('app', 'running')]),
          previous,
          missingObjects,
        }),
      );
    const one = of([{ kind: 'ConfigMap', ...key }], {});
    assert.deepEqual(why(one, type), [
      'False',
      'ConfigObjectMissing',
      'ConfigMap default/greeting is missing',
    ]);
    const two = of(
      [
        { kind: 'ConfigMap', ...key },
        { ...key, kind: 'Secret' },
      ],
      one,
    );
    assert.deepEqual(why(two, type), [
      'False',
      'ConfigObjectMissing',
      'ConfigMap default/greeting, Secret default/greeting are missing',
    ]);
    assert.equal(two.conditions?.filter((c) => c.type === type).length, 1);
    const types = (made: PodStatus): string[] => (made.conditions ?? []).map((c) => c.type);
    assert.deepEqual(types(of([], two)), types(of([], {})));
    assert.ok(!types(of([{ kind: 'ConfigMap', ...key }], two, true)).includes(type));
  });

  it('waits for readiness gates, and passes on conditions of others first', () => {
    const made = pod({
      readinessGates: [{ conditionType: 'a.io/x' }, { conditionType: 'a.io/y' }],
    });
    const previous: PodStatus = { conditions: [{ type: 'a.io/x', status: 'False' }] };
    const now = status(made, [record('app', 'running')], previous);
    assert.deepEqual(now.conditions?.[0], { type: 'a.io/x', status: 'False' });
    assert.deepEqual(why(now, 'ContainersReady'), ['True', undefined, undefined]);
    assert.deepEqual(why(now, 'Ready'), [
      'False',
      'ReadinessGatesNotReady',
      'the status of pod readiness gate "a.io/x" is not "True", but False, corresponding condition of pod readiness gate "a.io/y" does not exist.',
    ]);
  });

  it('says that containers cannot start while the sandbox has to be made anew', () => {
    for (const sandboxes of [
      [],
      [sandbox({ state: 'notready' })],
      [sandbox(), sandbox({ id: 's1' })],
      [sandbox({ ips: [] })],
      [sandbox({ networkMode: 'node' })],
    ]) {
      const now = generatePodStatus(
        input({ runtime: runtime([record('app', 'running')], sandboxes) }),
      );
      assert.equal(condition(now, 'PodReadyToStartContainers').status, 'False');
    }
  });

  it('tells of a restart of all containers only where a rule can ask for it', () => {
    const made = pod({
      containers: [
        container('app', {
          restartPolicy: 'Never',
          restartPolicyRules: [
            { action: 'RestartAllContainers', exitCodes: { operator: 'NotIn', values: [0, 1] } },
          ],
        }),
      ],
    });
    assert.equal(
      condition(status(made, [exited('app', 1)]), 'AllContainersRestarting').status,
      'False',
    );
    assert.deepEqual(why(status(made, [exited('app', 2)]), 'AllContainersRestarting'), [
      'True',
      'RestartAllContainersStarted',
      'container exited with restart policy rule',
    ]);
    const plain = status(pod(), [exited('app', 2)]);
    assert.equal(
      plain.conditions?.some((c) => c.type === 'AllContainersRestarting'),
      false,
    );
  });
});
