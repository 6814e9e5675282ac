import assert from 'node:assert/strict';
import test from 'node:test';
import { status as Status } from '@grpc/grpc-js';
import { operationType } from '../../../src/cri/metered.ts';
import { Registry } from '../../../src/metrics/registry.ts';
import { sandboxConfigOf } from '../../support/cri-configs.ts';
import { connect } from '../../support/fake-cri-client.ts';

test('operations have the names the kubelet gives them', () => {
  const names = {
    Version: 'version',
    RunPodSandbox: 'run_podsandbox',
    PodSandboxStatus: 'podsandbox_status',
    ListPodSandbox: 'list_podsandbox',
    CreateContainer: 'create_container',
    ListContainers: 'list_containers',
    ExecSync: 'exec_sync',
    UpdateContainerResources: 'update_container',
    PullImage: 'pull_image',
    ImageFsInfo: 'image_fs_info',
  };
  for (const [rpc, name] of Object.entries(names)) assert.equal(operationType(rpc), name);
});

test('calls, failures and durations are counted by operation', async (t) => {
  const metrics = new Registry();
  const { fake, runtime, images } = await connect(t, { metrics });
  await runtime.listContainers({});
  await runtime.listContainersRaw();
  await images.listImages();
  await runtime.runPodSandbox(sandboxConfigOf('u', 'p'), '');
  fake.fail('runPodSandbox', Status.UNKNOWN);
  await runtime.runPodSandbox(sandboxConfigOf('u', 'p'), 'kata').catch(() => {});
  const lines = new Set(metrics.expose().split('\n'));
  for (const line of [
    'kubelet_runtime_operations_total{operation_type="list_containers"} 2',
    'kubelet_runtime_operations_total{operation_type="list_images"} 1',
    'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 2',
    'kubelet_runtime_operations_errors_total{operation_type="run_podsandbox"} 1',
    'kubelet_runtime_operations_duration_seconds_count{operation_type="list_containers"} 2',
    'kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""} 1',
    'kubelet_run_podsandbox_errors_total{runtime_handler="kata"} 1',
  ])
    assert.ok(lines.has(line), line);
  assert.ok(![...lines].some((line) => /errors_total.*list_/.test(line)));
});

test('a failed stream is counted as an error', async (t) => {
  const metrics = new Registry();
  const { fake, runtime } = await connect(t, { metrics });
  fake.fail('getContainerEvents', Status.UNIMPLEMENTED);
  await assert.rejects(
    runtime.containerEvents(new AbortController().signal)[Symbol.asyncIterator]().next(),
  );
  assert.match(metrics.expose(), /errors_total\{operation_type="get_container_events"\} 1\n/);
});
