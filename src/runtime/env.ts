/**
 * Owns: the environment of a container: envFrom, then env in order, later names winning; a value may use
 * what stands before it (spec cri-mapping.md §3.2). There are no service variables without an API server.
 * Leaves to others: where ConfigMaps and Secrets come from, reading env files.
 */
import type { ConfigObjectKey, ConfigObjects } from '../api/config-object.ts';
import { NO_CONFIG_OBJECTS, objectOf } from '../api/config-object.ts';
import type { Container, EnvVarSource, KeySelector, Pod } from '../api/pod.ts';
import { fieldValue, resourceFieldValue } from '../api/downward.ts';
import type { MountedVolume } from '../volume/model.ts';
import { textOfBytes } from '../util/byte-text.ts';
import { messageOf } from '../util/errors.ts';
import { ConfigError } from './config-error.ts';
import type { EnvFileReader } from './env-file.ts';
import { envFileValue } from './env-file.ts';
import type { EnvVars } from './expand.ts';
import { expand } from './expand.ts';
import type { NodeFacts } from './node-facts.ts';

export interface EnvInput {
  readonly pod: Pod;
  readonly container: Container;
  /** Addresses of the sandbox, primary first. */
  readonly podIps: readonly string[];
  readonly facts: NodeFacts;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Without it no ConfigMap and no Secret exists. */
  readonly objects?: ConfigObjects;
  /** How files for fileKeyRef are read; without it none can be. */
  readonly readEnvFile?: EnvFileReader;
}

/** @throws ConfigError when a value that is not optional cannot be had. */
export function containerEnv(input: EnvInput): EnvVars {
  const vars = new Map<string, string>();
  for (const source of input.container.envFrom ?? []) {
    const kind = source.configMapRef ? 'ConfigMap' : 'Secret';
    const ref = source.configMapRef ?? source.secretRef;
    const values = ref && valuesOf(input, kind, ref);
    for (const key of values?.keys() ?? []) {
      const name = `${source.prefix ?? ''}${key}`;
      if (name === '' || name.includes('=')) continue;
      vars.set(name, textOf(input, kind, ref?.name, key, values?.get(key)));
    }
  }
  for (const { name, value, valueFrom } of input.container.env ?? []) {
    if (value) vars.set(name, expand(value, vars));
    else if (!valueFrom) vars.set(name, '');
    else {
      const found = valueOf(input, valueFrom);
      if (found !== undefined) vars.set(name, found);
    }
  }
  return vars;
}

/** undefined: optional and absent, so the variable is not set at all. */
function valueOf(input: EnvInput, source: EnvVarSource): string | undefined {
  const { pod, container, facts } = input;
  if (source.fieldRef) {
    const { nodeName, nodeIps } = facts;
    const ref = source.fieldRef;
    return orConfigError(() => fieldValue(pod, ref, { nodeName, nodeIps, podIps: input.podIps }));
  }
  if (source.resourceFieldRef) {
    const ref = source.resourceFieldRef;
    return orConfigError(() => resourceFieldValue(pod, ref, container, facts.allocatable));
  }
  if (source.configMapKeyRef) return keyOf(input, 'ConfigMap', source.configMapKeyRef);
  if (source.secretKeyRef) return keyOf(input, 'Secret', source.secretKeyRef);
  if (source.fileKeyRef) return envFileValue(source.fileKeyRef, input.volumes, input.readEnvFile);
  return '';
}

type ObjectKind = ConfigObjectKey['kind'];

function keyOf(input: EnvInput, kind: ObjectKind, ref: KeySelector): string | undefined {
  const found = valuesOf(input, kind, ref)?.get(ref.key);
  if (found !== undefined) return textOf(input, kind, ref.name, ref.key, found);
  if (ref.optional) return undefined;
  const { namespace } = input.pod.metadata;
  throw new ConfigError(`couldn't find key ${ref.key} in ${kind} ${namespace}/${ref.name ?? ''}`);
}

/**
 * Unlike the kubelet: which hands a value with a NUL byte on and gets an error of the runtime that may
 * have the value in it.
 */
function textOf(
  input: EnvInput,
  kind: ObjectKind,
  name = '',
  key: string,
  value: string | Uint8Array = '',
): string {
  const text = typeof value === 'string' ? value : textOfBytes(value);
  if (!text.includes('\0')) return text;
  const { namespace } = input.pod.metadata;
  throw new ConfigError(
    `key ${key} in ${kind} ${namespace}/${name} has a NUL byte, which no environment variable can have`,
  );
}

/** What variables are made from; `binaryData` is for volumes only. undefined: absent and optional. */
function valuesOf(
  { objects = NO_CONFIG_OBJECTS, pod }: EnvInput,
  kind: ObjectKind,
  ref: { name?: string; optional?: boolean },
): ReadonlyMap<string, string | Uint8Array> | undefined {
  const { namespace } = pod.metadata;
  const { name = '', optional } = ref;
  const found = objectOf(objects, { kind, namespace, name });
  if (found || optional) return found?.data;
  throw new ConfigError(`${kind.toLowerCase()} "${name}" not found`);
}

function orConfigError(read: () => string): string {
  try {
    return read();
  } catch (error) {
    throw new ConfigError(messageOf(error));
  }
}
