import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describePod } from '../../../src/cli/describe.ts';
import type { Volume } from '../../../src/api/volume.ts';
import { container, ended, pod, up } from '../server/support.ts';
import { NOW, startAgent } from './support.ts';

const volumes: Volume[] = [
  { name: 'data', emptyDir: { sizeLimit: '1Mi' } },
  { name: 'host', hostPath: { path: '/srv', type: 'Directory' } },
  { name: 'keys', secret: { secretName: 'tls' } },
  { name: 'claim', persistentVolumeClaim: { claimName: 'x' } },
];

const app = container('app', {
  command: ['sh', '-c', 'echo a\necho b'],
  ports: [{ containerPort: 80, hostPort: 8080, protocol: 'TCP' }],
  resources: { limits: { memory: '64Mi', cpu: '1' } },
  env: [
    { name: 'PLAIN', value: 'value\x1b[2J' },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'tls', key: 'tls.key' } } },
    { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
  ],
  volumeMounts: [
    { name: 'data', mountPath: '/data' },
    { name: 'host', mountPath: '/etc/host', readOnly: true, subPath: 'a' },
  ],
  livenessProbe: {
    httpGet: { path: '/live', port: 80 },
    initialDelaySeconds: 5,
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  },
});

describe('islet describe pod', () => {
  it('tells everything about one pod', async (t) => {
    const { view, run } = await startAgent(t);
    const running = up('app', { restartCount: 1, lastState: ended('app', 0, 137, 'OOMKilled') });
    view.podList = [
      pod('web', {
        metadata: { labels: { tier: 'front', app: 'web' } },
        spec: {
          containers: [app],
          volumes,
          tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
        },
        status: {
          phase: 'Running',
          startTime: '2026-01-01T00:00:00Z',
          hostIP: '192.0.2.1',
          podIP: '10.88.0.2',
          podIPs: [{ ip: '10.88.0.2' }],
          conditions: [
            { type: 'Ready', status: 'False', reason: 'ContainersNotReady', message: 'm' },
          ],
          containerStatuses: [running],
        },
      }),
    ];
    view.fileList = [
      {
        file: '/m/web.yaml',
        state: 'invalid',
        messages: ['/m/web.yaml:2: spec: x'],
        pods: ['default/web-edge1'],
        usingLastGood: true,
      },
    ];
    view.warningsOf = { 'uid-web': ['spec.volumes[3]: something about it'] };
    const event = {
      type: 'Warning' as const,
      reason: 'BackOff',
      message: 'Back-off restarting',
      kind: 'Pod' as const,
      namespace: 'default',
      name: 'web-edge1',
      count: 2,
      firstSeenMs: NOW - 600_000,
      lastSeenMs: NOW - 60_000,
    };
    view.eventList = [
      { ...event, uid: 'uid-web' },
      { ...event, uid: 'uid-old', reason: 'OfAnEarlierPod' },
    ];
    const { status, out } = await run(describePod, { pod: 'web' });
    assert.equal(status, 0);
    assert.equal(out, EXPECTED);
  });

  it('names the runtime class that a pod asks for', async (t) => {
    const { view, run } = await startAgent(t);
    view.podList = [pod('web', { spec: { containers: [app], runtimeClassName: 'kata' } })];
    const { out } = await run(describePod, { pod: 'web' });
    assert.match(out, /^Runtime Class Name: +kata$/m);
  });

  it('shows a pod of which next to nothing is known', async (t) => {
    const { view, run } = await startAgent(t);
    view.podList = [pod('web', { status: {} })];
    const { status, out } = await run(describePod, { pod: 'pod/web-edge1' });
    assert.equal(status, 0);
    assert.match(out, /^Status: +Unknown$/m);
    assert.match(out, /^Events: +<none>$/m);
    assert.equal((await run(describePod, { pod: 'nope' })).status, 1);
  });
});

const EXPECTED = `Name:         web-edge1
Namespace:    default
UID:          uid-web
Priority:     0
Node:         edge1/192.0.2.1
Start Time:   Thu, 01 Jan 2026 00:00:00 +0000
Labels:       app=web
              tier=front
Annotations:  <none>
Status:       Running
IP:           10.88.0.2
IPs:
  IP:  10.88.0.2
Manifest:     /m/web.yaml (invalid, the pod runs from what was good last)
              /m/web.yaml:2: spec: x
Containers:
  app:
    Container ID:   containerd://app-0
    Image:          registry.test/app:1
    Image ID:
    Ports:          80/TCP
    Host Ports:     8080/TCP
    Command:
      sh
      -c
      echo a
      echo b
    State:          Running
      Started:  Thu, 01 Jan 2026 00:00:00 +0000
    Last State:     Terminated
      Reason:     OOMKilled
      Exit Code:  137
      Started:    Thu, 01 Jan 2026 00:00:00 +0000
      Finished:   Thu, 01 Jan 2026 00:00:10 +0000
    Ready:          True
    Restart Count:  1
    Limits:
      cpu:     1
      memory:  64Mi
    Liveness:       http-get http://:80/live delay=5s timeout=1s period=10s #success=1 #failure=3
    Environment:
      PLAIN:  value^[[2J
      KEY:    <set to the key 'tls.key' in secret 'tls'>  Optional: false
      IP:     (v1:status.podIP)
    Mounts:
      /data from data (rw)
      /etc/host from host (ro,path="a")
Conditions:
  Type    Status   Reason               Message
  Ready   False    ContainersNotReady   m
Volumes:
  data:
    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:
    SizeLimit:  1Mi
  host:
    Type:          HostPath (bare host directory volume)
    Path:          /srv
    HostPathType:  Directory
  keys:
    Type:        Secret (a volume populated by a Secret)
    SecretName:  tls
    Optional:    false
  claim:
    Type:       PersistentVolumeClaim (a directory or device of this node)
    ClaimName:  x
    ReadOnly:   false
QoS Class:       Burstable
Node-Selectors:  <none>
Tolerations:     :NoExecute op=Exists
Warnings:
  spec.volumes[3]: something about it
Events:
  Type      Reason    Age                 From    Message
  Warning   BackOff   60s (x2 over 10m)   islet   Back-off restarting
`;
