/**
 * Owns: objects as YAML. The library is loaded when asked for: most commands do not need it.
 */
export async function toYaml(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  // As YAML 1.1, so that strings such as `yes` or `0400` are quoted for every reader.
  return stringify(value, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
}
