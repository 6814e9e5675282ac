import { loadManifest } from '../../../src/manifest/load.ts';
import type { LoadedFile } from '../../../src/manifest/model.ts';
import type { Pod } from '../../../src/api/pod.ts';

export const PATH = '/etc/manifests/web.yaml';
export const NODE = 'Edge1';

export function load(text: string, path = PATH, nodeName = NODE): LoadedFile {
  return loadManifest(Buffer.from(text), { path, nodeName });
}

/** The only pod of a text that is accepted. */
export function podOf(text: string, path = PATH, nodeName = NODE): Pod {
  const { documents, errors } = load(text, path, nodeName);
  const [first] = documents;
  if (errors.length > 0 || first?.kind !== 'Pod') {
    throw new Error(
      `not accepted: ${errors.map(({ path: at, message }) => `${at}: ${message}`).join('; ')}`,
    );
  }
  return first.pod;
}

/** `line path: message` of each error. */
export function errorsOf(text: string): string[] {
  return load(text).errors.map(({ line, path, message }) => `${line} ${path}: ${message}`);
}

export const pod = (spec: string, metadata = 'name: web'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {${metadata}}\nspec:\n${spec}\n`;

/** A pod of one container with these lines below it. */
export const container = (...lines: string[]): string =>
  pod(
    ['  containers:', '  - name: c', '    image: busybox', ...lines.map((l) => `    ${l}`)].join(
      '\n',
    ),
  );
