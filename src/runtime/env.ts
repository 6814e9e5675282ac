/**
 * Owns: the environment of a container: envFrom, then env in order, later names winning; a value may use
 * what stands before it (spec cri-mapping.md §3.2). There are no service variables without an API server.
 * Leaves to others: where ConfigMaps and Secrets come from, reading env files.
 */
import type { Container, EnvVarSource, KeySelector, Pod } from '../api/pod.ts';
import { fieldValue, resourceFieldValue } from '../api/downward.ts';
import type { MountedVolume } from '../volume/model.ts';
import { messageOf, unreachable } from '../util/errors.ts';
import { ConfigError } from './config-error.ts';
import type { EnvFileReader } from './env-file.ts';
import { envFileValue } from './env-file.ts';
import type { EnvVars } from './expand.ts';
import { expand } from './expand.ts';
import type { NodeFacts } from './node-facts.ts';

/** Reads ConfigMaps and Secrets; made where they are kept. Values are text, not base64. */
export interface ObjectResolver {
  /** Keys and values, or undefined when there is no such object. */
  configMap(namespace: string, name: string): ReadonlyMap<string, string> | undefined;
  secret(namespace: string, name: string): ReadonlyMap<string, string> | undefined;
}

export interface EnvInput {
  readonly pod: Pod;
  readonly container: Container;
  /** Addresses of the sandbox, primary first. */
  readonly podIps: readonly string[];
  readonly facts: NodeFacts;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Without it no ConfigMap and no Secret exists. */
  readonly objects?: ObjectResolver;
  /** How files for fileKeyRef are read; without it none can be. */
  readonly readEnvFile?: EnvFileReader;
}

type ObjectKind = 'configMap' | 'secret';

/** @throws ConfigError when a value that is not optional cannot be had. */
export function containerEnv(input: EnvInput): EnvVars {
  const vars = new Map<string, string>();
  for (const source of input.container.envFrom ?? []) {
    const kind: ObjectKind = source.configMapRef ? 'configMap' : 'secret';
    const ref = source.configMapRef ?? source.secretRef;
    for (const [key, value] of (ref && objectOf(input, kind, ref)) ?? []) {
      vars.set(`${source.prefix ?? ''}${key}`, value);
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
  if (source.configMapKeyRef) return keyOf(input, 'configMap', source.configMapKeyRef);
  if (source.secretKeyRef) return keyOf(input, 'secret', source.secretKeyRef);
  if (source.fileKeyRef) return envFileValue(source.fileKeyRef, input.volumes, input.readEnvFile);
  return '';
}

function keyOf(input: EnvInput, kind: ObjectKind, ref: KeySelector): string | undefined {
  const found = objectOf(input, kind, ref)?.get(ref.key);
  if (found !== undefined || ref.optional) return found;
  const word = kind === 'configMap' ? 'ConfigMap' : 'Secret';
  throw new ConfigError(
    `couldn't find key ${ref.key} in ${word} ${input.pod.metadata.namespace}/${ref.name ?? ''}`,
  );
}

/** undefined: absent and optional. */
function objectOf(
  input: EnvInput,
  kind: ObjectKind,
  ref: { name?: string; optional?: boolean },
): ReadonlyMap<string, string> | undefined {
  const name = ref.name ?? '';
  const found = lookUp(input.objects, kind, input.pod.metadata.namespace, name);
  if (found || ref.optional) return found;
  throw new ConfigError(`${kind.toLowerCase()} "${name}" not found`);
}

function lookUp(
  objects: ObjectResolver | undefined,
  kind: ObjectKind,
  namespace: string,
  name: string,
): ReadonlyMap<string, string> | undefined {
  switch (kind) {
    case 'configMap':
      return objects?.configMap(namespace, name);
    case 'secret':
      return objects?.secret(namespace, name);
    default:
      return unreachable(kind);
  }
}

function orConfigError(read: () => string): string {
  try {
    return read();
  } catch (error) {
    throw new ConfigError(messageOf(error));
  }
}
