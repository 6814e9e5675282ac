/**
 * Owns: requests as plain JSON with the protocol's own field names, for people: `render` prints them.
 * As in protobuf's JSON, 64-bit numbers are strings and zero values are left out. Unlike it, the
 * values of environment variables (bytes on the wire) are readable text.
 */
import { toJson } from '@bufbuild/protobuf';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { containerConfigToProto } from './convert-container.ts';
import { sandboxConfigToProto } from './convert.ts';
import { ContainerConfigSchema, PodSandboxConfigSchema } from './gen/cri_pb.ts';
import type { ContainerConfig, SandboxConfig } from './model.ts';

/** runtime.v1.PodSandboxConfig. */
export function sandboxConfigJson(config: SandboxConfig): JsonObject {
  const json = toJson(PodSandboxConfigSchema, sandboxConfigToProto(config), {
    useProtoFieldName: true,
  });
  return objectOf(json);
}

/** runtime.v1.ContainerConfig. */
export function containerConfigJson(config: ContainerConfig): JsonObject {
  const json = toJson(ContainerConfigSchema, containerConfigToProto(config), {
    useProtoFieldName: true,
  });
  const envs: JsonValue = config.envs.map((env) => (env.value === '' ? { key: env.key } : env));
  return { ...objectOf(json), ...(envs.length > 0 ? { envs } : {}) };
}

function objectOf(json: JsonValue): JsonObject {
  if (json !== null && typeof json === 'object' && !Array.isArray(json)) return json;
  throw new Error('a message is an object in JSON');
}
