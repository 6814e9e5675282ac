/**
 * Owns: the schemas of containers and of all that is inside them, v1 of 1.36.
 */
import type {
  Container,
  ContainerPort,
  ContainerRestartRule,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  EphemeralContainer,
  HttpGetAction,
  KeySelector,
  Lifecycle,
  LifecycleHandler,
  ObjectFieldSelector,
  Probe,
  ProfileRef,
  ResourceFieldSelector,
  ResourceRequirements,
  SeLinuxOptions,
  SecurityContext,
  VolumeMount,
} from '../api/pod.ts';
import {
  flag,
  flagOrNone,
  int32,
  int32Kept,
  int64Kept,
  int64OrNone,
  intOrString,
  list,
  map,
  object,
  quantity,
  record,
  struct,
  text,
  textKept,
  textOrNone,
} from './schema.ts';
import type { Fields } from './schema.ts';

type EnvFromRef = NonNullable<EnvFromSource['configMapRef']>;
type FileKeyRef = NonNullable<EnvVarSource['fileKeyRef']>;
type ExitCodes = NonNullable<ContainerRestartRule['exitCodes']>;
type Exec = NonNullable<Probe['exec']>;
type TcpSocket = NonNullable<Probe['tcpSocket']>;
type Grpc = NonNullable<Probe['grpc']>;
type Sleep = NonNullable<LifecycleHandler['sleep']>;
type Capabilities = NonNullable<SecurityContext['capabilities']>;
type Claim = Item<ResourceRequirements['claims']>;
type Header = Item<HttpGetAction['httpHeaders']>;
type Resize = Item<Container['resizePolicy']>;
type Device = Item<Container['volumeDevices']>;
type Item<L extends readonly unknown[] | undefined> = NonNullable<L>[number];

const resourceFields: Fields<ResourceRequirements> = {
  limits: map<string>(quantity),
  requests: map<string>(quantity),
  claims: list<Claim>(object<Claim>({ name: textKept, request: text })),
};
/** Of a container: never absent. */
const resources = struct<ResourceRequirements>(resourceFields);
/** Of a pod: absent or not makes a difference. */
export const podResources = object<ResourceRequirements>(resourceFields);

export const fieldRef = object<ObjectFieldSelector>({ apiVersion: text, fieldPath: textKept });
export const resourceFieldRef = object<ResourceFieldSelector>({
  containerName: text,
  resource: textKept,
  divisor: quantity,
});
const keyRef = object<KeySelector>({ name: text, key: textKept, optional: flagOrNone });
const envFromRef = object<EnvFromRef>({ name: text, optional: flagOrNone });

const env = object<EnvVar>({
  name: textKept,
  value: text,
  valueFrom: object<EnvVarSource>({
    fieldRef,
    resourceFieldRef,
    configMapKeyRef: keyRef,
    secretKeyRef: keyRef,
    fileKeyRef: object<FileKeyRef>({
      volumeName: textKept,
      path: textKept,
      key: textKept,
      optional: flagOrNone,
    }),
  }),
});

const exec = object<Exec>({ command: list<string>(text) });
const httpGet = object<HttpGetAction>({
  path: text,
  port: intOrString,
  host: text,
  scheme: text,
  httpHeaders: list<Header>(object<Header>({ name: textKept, value: textKept })),
});
const tcpSocket = object<TcpSocket>({ port: intOrString, host: text });

const probe = object<Probe>({
  exec,
  httpGet,
  tcpSocket,
  grpc: object<Grpc>({ port: int32Kept, service: textOrNone }),
  initialDelaySeconds: int32,
  timeoutSeconds: int32,
  periodSeconds: int32,
  successThreshold: int32,
  failureThreshold: int32,
  terminationGracePeriodSeconds: int64OrNone,
});

const hook = object<LifecycleHandler>({
  exec,
  httpGet,
  tcpSocket,
  sleep: object<Sleep>({ seconds: int64Kept }),
});

export const seLinuxOptions = object<SeLinuxOptions>({
  user: text,
  role: text,
  type: text,
  level: text,
});
export const profileRef = object<ProfileRef>({ type: textKept, localhostProfile: textOrNone });
export const windowsOptions = record({
  gmsaCredentialSpecName: textOrNone,
  gmsaCredentialSpec: textOrNone,
  runAsUserName: textOrNone,
  hostProcess: flagOrNone,
});

const securityContext = object<SecurityContext>({
  capabilities: object<Capabilities>({ add: list<string>(text), drop: list<string>(text) }),
  privileged: flagOrNone,
  seLinuxOptions,
  windowsOptions,
  runAsUser: int64OrNone,
  runAsGroup: int64OrNone,
  runAsNonRoot: flagOrNone,
  readOnlyRootFilesystem: flagOrNone,
  allowPrivilegeEscalation: flagOrNone,
  procMount: textOrNone,
  seccompProfile: profileRef,
  appArmorProfile: profileRef,
});

const containerFields: Fields<Container> = {
  name: textKept,
  image: text,
  command: list<string>(text),
  args: list<string>(text),
  workingDir: text,
  ports: list<ContainerPort>(
    object<ContainerPort>({
      name: text,
      hostPort: int32,
      containerPort: int32Kept,
      protocol: text,
      hostIP: text,
    }),
  ),
  env: list<EnvVar>(env),
  envFrom: list<EnvFromSource>(
    object<EnvFromSource>({ prefix: text, configMapRef: envFromRef, secretRef: envFromRef }),
  ),
  resources,
  resizePolicy: list<Resize>(object<Resize>({ resourceName: textKept, restartPolicy: textKept })),
  restartPolicy: textOrNone,
  restartPolicyRules: list<ContainerRestartRule>(
    object<ContainerRestartRule>({
      action: textKept,
      exitCodes: object<ExitCodes>({ operator: textKept, values: list<number>(int32) }),
    }),
  ),
  volumeMounts: list<VolumeMount>(
    object<VolumeMount>({
      name: textKept,
      readOnly: flag,
      recursiveReadOnly: textOrNone,
      mountPath: textKept,
      subPath: text,
      mountPropagation: textOrNone,
      subPathExpr: text,
    }),
  ),
  volumeDevices: list<Device>(object<Device>({ name: textKept, devicePath: textKept })),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: object<Lifecycle>({ postStart: hook, preStop: hook, stopSignal: textOrNone }),
  terminationMessagePath: text,
  terminationMessagePolicy: text,
  imagePullPolicy: text,
  securityContext,
  stdin: flag,
  stdinOnce: flag,
  tty: flag,
};

export const container = object<Container>(containerFields);
export const ephemeralContainer = object<EphemeralContainer>({
  ...containerFields,
  targetContainerName: text,
});
