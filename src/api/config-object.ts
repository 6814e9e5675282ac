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

/** What there is now. The same object as before means: unchanged. */
export interface ConfigObjects {
  configMap(namespace: string, name: string): ConfigMap | undefined;
  secret(namespace: string, name: string): Secret | undefined;
}

export const NO_CONFIG_OBJECTS: ConfigObjects = {
  configMap: () => undefined,
  secret: () => undefined,
};
