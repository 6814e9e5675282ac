/**
 * Owns: what pods refer to by name: ConfigMaps and Secrets, decoded, whoever provides them.
 * Invariant: a value of a Secret is bytes in memory and in the places that a pod asks for; it is in no
 * log, event, status, database or output of the command line.
 * Leaves to others: reading them from files (manifest/), what a pod makes of them (runtime/, volume/, image/).
 */

export interface ConfigMap {
  readonly namespace: string;
  readonly name: string;
  readonly data: ReadonlyMap<string, string>;
  /** Decoded; no key of it is in `data` too. */
  readonly binaryData: ReadonlyMap<string, Uint8Array>;
  readonly immutable: boolean;
}

export interface Secret {
  readonly namespace: string;
  readonly name: string;
  /** e.g. `Opaque` or `kubernetes.io/dockerconfigjson`. */
  readonly type: string;
  /** Decoded, `stringData` included. */
  readonly data: ReadonlyMap<string, Uint8Array>;
  readonly immutable: boolean;
}

/** Which object is meant. */
export interface ConfigObjectKey {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly namespace: string;
  readonly name: string;
}

/** `ConfigMap default/greeting`: for people, and as a key of maps. */
export function objectText({ kind, namespace, name }: ConfigObjectKey): string {
  return `${kind} ${namespace}/${name}`;
}

/** The object of a key, whichever kind it has. */
export function objectOf(
  objects: ConfigObjects,
  { kind, namespace, name }: ConfigObjectKey,
): ConfigMap | Secret | undefined {
  return kind === 'ConfigMap'
    ? objects.configMap(namespace, name)
    : objects.secret(namespace, name);
}

/** What there is now. The same object as before means: unchanged. */
export interface ConfigObjects {
  configMap(namespace: string, name: string): ConfigMap | undefined;
  secret(namespace: string, name: string): Secret | undefined;
}

export const NO_CONFIG_OBJECTS: ConfigObjects = {
  configMap: () => undefined,
  secret: () => undefined,
};
