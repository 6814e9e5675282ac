/**
 * Owns: a ConfigMap or Secret as written → as pods see it: base64 undone, `stringData` over `data`.
 * The document has been validated before, so nothing here can fail.
 */
import type { ConfigMap, ConfigObjects, Secret } from '../api/config-object.ts';
import type { ConfigMapObject, LoadedDocument, SecretObject } from './model.ts';

export function decodeConfigMap(object: ConfigMapObject): ConfigMap {
  const { metadata, data = {}, binaryData = {}, immutable = false } = object;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    data: new Map(Object.entries(data)),
    binaryData: bytesOf(binaryData),
    immutable,
  };
}

export function decodeSecret(object: SecretObject): Secret {
  const { metadata, type, data = {}, stringData = {}, immutable = false } = object;
  const values = bytesOf(data);
  for (const [key, text] of Object.entries(stringData)) values.set(key, Buffer.from(text));
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    type: type || 'Opaque',
    data: values,
    immutable,
  };
}

/**
 * The objects among the documents of one file, for output that people see: each value of a Secret is
 * `<secret NAMESPACE/NAME KEY>`.
 */
export function previewObjects(documents: readonly LoadedDocument[]): ConfigObjects {
  const configMaps = new Map<string, ConfigMap>();
  const secrets = new Map<string, Secret>();
  for (const document of documents) {
    if (document.kind === 'Pod') continue;
    const { namespace, name } = document.object.metadata;
    const at = `${namespace}/${name}`;
    if (document.kind === 'ConfigMap') configMaps.set(at, decodeConfigMap(document.object));
    else secrets.set(at, masked(decodeSecret(document.object)));
  }
  return {
    configMap: (namespace, name) => configMaps.get(`${namespace}/${name}`),
    secret: (namespace, name) => secrets.get(`${namespace}/${name}`),
  };
}

function masked(secret: Secret): Secret {
  const at = `${secret.namespace}/${secret.name}`;
  const keys = [...secret.data.keys()];
  const data = new Map(keys.map((key) => [key, Buffer.from(`<secret ${at} ${key}>`)]));
  return { ...secret, data };
}

function bytesOf(encoded: Record<string, string>): Map<string, Uint8Array> {
  return new Map(Object.entries(encoded).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}
