import assert from 'node:assert/strict';
import { test } from 'node:test';
import { container, errorsOf, load, pod } from './helper.ts';

/** A pod of one plain container with more lines in its spec. */
const spec = (...lines: string[]): string =>
  pod(
    ['  containers: [{name: c, image: busybox}]', ...lines.map((line) => `  ${line}`)].join('\n'),
  );
const volume = (source: string): string => spec(`volumes: [{name: v, ${source}}]`);
const mount = (fields: string, more = ''): string =>
  pod(
    `  containers: [{name: c, image: x, ${more}volumeMounts: [{name: v, ${fields}}]}]\n  volumes: [{name: v}]`,
  );
const probe = (fields: string): string => container(`livenessProbe: {${fields}}`);
const C = 'spec.containers[0]';

/** Manifest, field path and message of the one thing that is wrong with it. */
const WRONG: [string, string, RegExp][] = [
  [pod('  containers: []'), 'spec.containers', /^Required value$/],
  [pod('  containers: [{image: x}]'), `${C}.name`, /^Required value$/],
  [pod('  containers: [{name: c}]'), `${C}.image`, /^Required value$/],
  [pod('  containers: [{name: c, image: " x"}]'), `${C}.image`, /whitespace/],
  [
    pod('  containers: [{name: c, image: x}, {name: c, image: x}]'),
    'spec.containers[1].name',
    /^Duplicate value: "c"$/,
  ],
  [spec('initContainers: [{name: c, image: x}]'), 'spec.initContainers[0].name', /^Duplicate/],
  [
    spec('initContainers: [{name: i, image: x, lifecycle: {}}]'),
    'spec.initContainers[0].lifecycle',
    /without restartPolicy=Always/,
  ],
  [
    spec('ephemeralContainers: [{name: e, image: x}]'),
    'spec.ephemeralContainers',
    /^Forbidden: cannot be set on create$/,
  ],
  [
    pod('  containers: [{name: c, image: x}]', 'name: web, namespace: A'),
    'metadata.namespace',
    /RFC 1123 label/,
  ],
  [
    pod('  containers: [{name: c, image: x}]', 'name: web, labels: {"a b": c}'),
    'metadata.labels[a b]',
    /name part must consist/,
  ],
  [
    pod('  containers: [{name: c, image: x}]', 'name: web, labels: {a: "b c"}'),
    'metadata.labels[a]',
    /a valid label must be/,
  ],
  [
    pod('  containers: [{name: c, image: x}]', `name: ${'a'.repeat(250)}`),
    'metadata.name',
    /no more than 253/,
  ],
  [
    container('imagePullPolicy: Sometimes'),
    `${C}.imagePullPolicy`,
    /^Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"$/,
  ],
  [container('ports: [{containerPort: 0}]'), `${C}.ports[0].containerPort`, /^Required/],
  [
    container('ports: [{containerPort: 70000}]'),
    `${C}.ports[0].containerPort`,
    /between 1 and 65535/,
  ],
  [
    container('ports: [{containerPort: 1, protocol: tcp}]'),
    `${C}.ports[0].protocol`,
    /"SCTP", "TCP", "UDP"/,
  ],
  [container('ports: [{containerPort: 1, name: UP}]'), `${C}.ports[0].name`, /alpha-numeric/],
  [
    container('ports: [{containerPort: 1, hostPort: 5}, {containerPort: 2, hostPort: 5}]'),
    `${C}.ports[1].hostPort`,
    /^Duplicate value: "TCP\/\/5"$/,
  ],
  [
    pod(
      '  hostNetwork: true\n  containers: [{name: c, image: x, ports: [{containerPort: 1, hostPort: 2}]}]',
    ),
    `${C}.ports[0].hostPort`,
    /must match `containerPort`/,
  ],
  [container('env: [{value: x}]'), `${C}.env[0].name`, /^Required/],
  [container('env: [{name: "A=B"}]'), `${C}.env[0].name`, /printable ASCII/],
  [
    container('env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]'),
    `${C}.env[0].valueFrom`,
    /when `value` is not empty/,
  ],
  [container('env: [{name: A, valueFrom: {}}]'), `${C}.env[0].valueFrom`, /must specify one of/],
  [
    container('env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.tolerations}}}]'),
    `${C}.env[0].valueFrom.fieldRef.fieldPath`,
    /label not supported/,
  ],
  [
    container('env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]'),
    `${C}.env[0].valueFrom.fieldRef.fieldPath`,
    /^Unsupported/,
  ],
  [
    container('env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.disk}}}]'),
    `${C}.env[0].valueFrom.resourceFieldRef.resource`,
    /^Unsupported/,
  ],
  [
    container(
      'env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1k}}}]',
    ),
    `${C}.env[0].valueFrom.resourceFieldRef.divisor`,
    /only divisor's values 1m, 1 /,
  ],
  [container('envFrom: [{}]'), `${C}.envFrom[0]`, /must specify one of/],
  [mount('mountPath: ""'), `${C}.volumeMounts[0].mountPath`, /^Required/],
  [mount('mountPath: "/a:b"'), `${C}.volumeMounts[0].mountPath`, /must not contain ':'/],
  [
    mount('mountPath: /a, subPath: ../b'),
    `${C}.volumeMounts[0].subPath`,
    /must not contain '\.\.'/,
  ],
  [mount('mountPath: /a, subPath: /b'), `${C}.volumeMounts[0].subPath`, /must be a relative path/],
  [
    mount('mountPath: /a, subPath: b, subPathExpr: c'),
    `${C}.volumeMounts[0].subPathExpr`,
    /mutually exclusive/,
  ],
  [
    mount('mountPath: /a, mountPropagation: Bidirectional'),
    `${C}.volumeMounts[0].mountPropagation`,
    /privileged containers/,
  ],
  [
    mount('mountPath: /a, recursiveReadOnly: Enabled'),
    `${C}.volumeMounts[0].recursiveReadOnly`,
    /readOnly is true/,
  ],
  [
    container('volumeMounts: [{name: gone, mountPath: /a}]'),
    `${C}.volumeMounts[0].name`,
    /^Not found: "gone"$/,
  ],
  [
    probe('httpGet: {port: 80}, successThreshold: 2'),
    `${C}.livenessProbe.successThreshold`,
    /must be 1/,
  ],
  [
    probe('httpGet: {port: 80}, tcpSocket: {port: 80}'),
    `${C}.livenessProbe.tcpSocket`,
    /more than 1 handler/,
  ],
  [probe('periodSeconds: 5'), `${C}.livenessProbe`, /must specify a handler type/],
  [probe('exec: {}'), `${C}.livenessProbe.exec.command`, /^Required/],
  [probe('httpGet: {port: "80"}'), `${C}.livenessProbe.httpGet.port`, /at least one letter/],
  [
    probe('httpGet: {port: 80}, periodSeconds: -1'),
    `${C}.livenessProbe.periodSeconds`,
    /greater than or equal to 0/,
  ],
  [
    probe('httpGet: {port: 80, scheme: https}'),
    `${C}.livenessProbe.httpGet.scheme`,
    /"HTTP", "HTTPS"/,
  ],
  [
    container('readinessProbe: {httpGet: {port: 80}, terminationGracePeriodSeconds: 5}'),
    `${C}.readinessProbe.terminationGracePeriodSeconds`,
    /must not be set/,
  ],
  [
    container('lifecycle: {preStop: {sleep: {seconds: 31}}}'),
    `${C}.lifecycle.preStop.sleep`,
    /terminationGracePeriodSeconds \(30\)/,
  ],
  [
    container('lifecycle: {stopSignal: SIGUSR1}'),
    `${C}.lifecycle.stopSignal`,
    /empty `spec.os.name`/,
  ],
  [
    container('restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]'),
    `${C}.restartPolicy`,
    /^Required value: must specify restartPolicy/,
  ],
  [
    container('restartPolicy: Never', 'restartPolicyRules: [{action: Restart}]'),
    `${C}.restartPolicyRules[0].exitCodes`,
    /^Required/,
  ],
  [
    container('resources: {limits: {cpu: 1}, requests: {cpu: 2}}'),
    `${C}.resources.requests[cpu]`,
    /"2": must be less than or equal to cpu limit of 1$/,
  ],
  [
    container('resources: {limits: {cpu: -1}}').replace('limits', 'requests'),
    `${C}.resources.requests[cpu]`,
    /greater than or equal to 0/,
  ],
  [
    container('resources: {requests: {example.com/x: 1}}'),
    `${C}.resources.limits[example.com/x]`,
    /^Required value: Limit must be set/,
  ],
  [
    container('resources: {limits: {hugepages-2Mi: 2Mi}}'),
    `${C}.resources`,
    /HugePages require cpu or memory/,
  ],
  [
    container('resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]'),
    `${C}.resizePolicy[0]`,
    /"cpu", "memory"/,
  ],
  [
    container('securityContext: {runAsUser: -1}'),
    `${C}.securityContext.runAsUser`,
    /between 0 and 2147483647/,
  ],
  [
    container('securityContext: {privileged: true, allowPrivilegeEscalation: false}'),
    `${C}.securityContext.allowPrivilegeEscalation`,
    /`privileged` to true/,
  ],
  [
    container('securityContext: {procMount: Unmasked}'),
    `${C}.securityContext.procMount`,
    /`hostUsers` must be false/,
  ],
  [
    container('securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../x}}'),
    `${C}.securityContext.seccompProfile.localhostProfile`,
    /must not contain/,
  ],
  [
    container('securityContext: {appArmorProfile: {type: Localhost}}'),
    `${C}.securityContext.appArmorProfile.localhostProfile`,
    /^Required/,
  ],
  [
    volume('emptyDir: {}, hostPath: {path: /x}'),
    'spec.volumes[0].hostPath',
    /more than 1 volume type/,
  ],
  [volume('hostPath: {path: /a/../b}'), 'spec.volumes[0].hostPath.path', /must not contain/],
  [volume('hostPath: {path: /a, type: Dir}'), 'spec.volumes[0].hostPath.type', /^Unsupported/],
  [
    volume('downwardAPI: {defaultMode: 0777777}'),
    'spec.volumes[0].downwardAPI.defaultMode',
    /0777 \(octal\)/,
  ],
  [
    volume('downwardAPI: {items: [{path: ..x, fieldRef: {fieldPath: metadata.name}}]}'),
    'spec.volumes[0].downwardAPI.items[0].path',
    /must not start with/,
  ],
  [
    volume('downwardAPI: {items: [{path: x}]}'),
    'spec.volumes[0].downwardAPI.items[0]',
    /one of fieldRef and resourceFieldRef/,
  ],
  [volume('configMap: {}'), 'spec.volumes[0].configMap.name', /^Required/],
  [
    volume(
      'projected: {sources: [{configMap: {name: a, items: [{key: k, path: p}]}}, {secret: {name: b, items: [{key: k, path: p}]}}]}',
    ),
    'spec.volumes[0].projected.sources[1]',
    /conflicting duplicate paths/,
  ],
  [volume('nfs: {server: s, path: relative}'), 'spec.volumes[0].nfs.path', /absolute/],
  [spec('volumes: [{name: v}, {name: v}]'), 'spec.volumes[1].name', /^Duplicate/],
  [spec('restartPolicy: Perhaps'), 'spec.restartPolicy', /^Unsupported/],
  [spec('activeDeadlineSeconds: 0'), 'spec.activeDeadlineSeconds', /between 1 and/],
  [spec('dnsPolicy: None'), 'spec.dnsConfig.nameservers', /at least one DNS nameserver/],
  [
    spec('dnsConfig: {nameservers: [1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4]}'),
    'spec.dnsConfig.nameservers',
    /more than 3/,
  ],
  [spec('dnsConfig: {nameservers: [one]}'), 'spec.dnsConfig.nameservers[0]', /valid IP/],
  [spec('hostAliases: [{ip: 010.0.0.1}]'), 'spec.hostAliases[0].ip', /leading 0s/],
  [spec('hostname: A'), 'spec.hostname', /RFC 1123 label/],
  [
    spec('shareProcessNamespace: true', 'hostPID: true'),
    'spec.shareProcessNamespace',
    /cannot both/,
  ],
  [spec('hostUsers: false', 'hostIPC: true'), 'spec.hostIPC', /`hostUsers` is false/],
  [
    spec('securityContext: {sysctls: [{name: "a b", value: x}]}'),
    'spec.securityContext.sysctls[0].name',
    /at most 253/,
  ],
  [
    spec('hostNetwork: true', 'securityContext: {sysctls: [{name: net/core/somaxconn, value: x}]}'),
    'spec.securityContext.sysctls[0].name',
    /'hostNetwork' is true/,
  ],
  [
    spec('securityContext: {fsGroupChangePolicy: Never}'),
    'spec.securityContext.fsGroupChangePolicy',
    /^Unsupported/,
  ],
  [spec('os: {name: beos}'), 'spec.os.name', /"linux", "windows"/],
  [spec('os: {name: windows}', 'hostPID: true'), 'spec.hostPID', /windows pod/],
  [
    spec('tolerations: [{key: a, operator: Exists, value: b}]'),
    'spec.tolerations[0].operator',
    /value must be empty/,
  ],
  [spec('tolerations: [{operator: Equal}]'), 'spec.tolerations[0].operator', /must be Exists when/],
  [spec('schedulingGates: [{name: g}]'), 'spec.nodeName', /schedulingGates/],
  [spec('resources: {limits: {pids: 5}}'), 'spec.resources.limits[pids]', /standard resource/],
  [spec('overhead: {disk: 1}'), 'spec.overhead[disk]', /standard resource/],
  [
    spec(
      'affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}',
    ),
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values',
    /must be specified/,
  ],
  [
    spec(
      'topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]',
    ),
    'spec.topologySpreadConstraints[0].maxSkew',
    /greater than zero/,
  ],
];

test('each mistake is named by field and reason', () => {
  for (const [text, path, message] of WRONG) {
    const { errors } = load(text);
    const found = errors.find((error) => error.path === path);
    assert.ok(found, `${path} in ${JSON.stringify(errors)}\n${text}`);
    assert.match(found.message, message, text);
    assert.equal(found.stage, 'validate');
  }
});

test('unusual pods that a kubelet takes are taken', () => {
  const fine = [
    spec('terminationGracePeriodSeconds: 0'),
    container(
      'env: [{name: "my.var-1 x"}, {name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels[\'a.b/c\']"}}}]',
    ),
    container(
      'ports: [{containerPort: 1, hostPort: 5}, {containerPort: 1, hostPort: 5, protocol: UDP}]',
    ),
    container('resources: {limits: {example.com/x: 2, hugepages-2Mi: 4Mi, memory: 1Gi}}'),
    container(
      'restartPolicy: Never',
      'restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]',
    ),
    container('lifecycle: {preStop: {sleep: {seconds: 0}}, postStart: {exec: {command: [x]}}}'),
    container('securityContext: {seccompProfile: {type: Localhost, localhostProfile: a/b.json}}'),
    mount(
      'mountPath: /a, mountPropagation: Bidirectional',
      'securityContext: {privileged: true}, ',
    ),
    spec(
      'initContainers: [{name: s, image: x, restartPolicy: Always, lifecycle: {}, startupProbe: {tcpSocket: {port: http}}}]',
    ),
    spec(
      'dnsConfig: {searches: [example.com., _srv.example.com, .], options: [{name: ndots, value: "2"}]}',
    ),
    spec(
      'os: {name: linux}',
      'hostname: a',
      'subdomain: b',
      'priorityClassName: system-node-critical',
    ),
    spec('hostUsers: false'),
    spec('securityContext: {sysctls: [{name: net/ipv4/ip_local_port_range, value: "1 2"}]}'),
    volume('emptyDir: {medium: Whatever, sizeLimit: 1Gi}'),
    volume('image: {reference: "x:1"}'),
    volume(
      'projected: {sources: [{downwardAPI: {items: [{path: a/b, fieldRef: {fieldPath: metadata.labels}}]}}]}',
    ),
  ];
  for (const text of fine) assert.deepEqual(errorsOf(text), [], text);
});
