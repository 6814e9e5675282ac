/**
 * Owns: the configuration of credential plugins, `kind: CredentialProviderConfig`: one file, or a
 * directory whose `.yaml`, `.yml` and `.json` files are read in the order of their names (spec:
 * gc-logs-images.md §5.2). Whatever is wrong ends the start: a plugin that is missing would be found out
 * about when a pod cannot be pulled.
 * Leaves to others: running them (image/).
 */
import fs from 'node:fs';
import path from 'node:path';
import { messageOf } from '../util/errors.ts';
import { fieldName, readDocuments } from './file.ts';
import type { Kinds, ReadDocument } from './file.ts';
import type { AgentFlags } from './flags.ts';
import type { CredentialProvider } from './model.ts';
import { shown } from './problem.ts';
import type { Problem } from './problem.ts';
import { bool, duration, list, object, oneOf, text } from './schema.ts';

export const PLUGIN_API_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map(
  (version) => `credentialprovider.kubelet.k8s.io/${version}`,
);

const CONFIG_FLAG = '--image-credential-provider-config';
const BIN_DIR_FLAG = '--image-credential-provider-bin-dir';
const KIND = 'CredentialProviderConfig';
const KINDS: Kinds = {
  [KIND]: {
    apiVersions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => `kubelet.config.k8s.io/${version}`),
    fields: {
      providers: list(
        object({
          name: text,
          matchImages: list(text),
          defaultCacheDuration: duration(),
          apiVersion: oneOf(...PLUGIN_API_VERSIONS),
          args: list(text),
          env: list(object({ name: text, value: text })),
          tokenAttributes: object({
            serviceAccountTokenAudience: text,
            cacheType: text,
            requireServiceAccount: bool,
            requiredServiceAccountAnnotationKeys: list(text),
            optionalServiceAccountAnnotationKeys: list(text),
          }),
        }),
      ),
    },
  },
};

/** A provider as it was written; the types are made sure of, all else is not. */
interface Written {
  readonly name?: string;
  readonly matchImages?: readonly string[];
  readonly defaultCacheDuration?: number;
  readonly apiVersion?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name?: string; readonly value?: string }[];
  readonly tokenAttributes?: Readonly<Record<string, unknown>>;
}

type Report = (field: readonly (string | number)[], found: string, expected: string) => void;

/** The providers in order; empty without the flags, or after faults were added to `problems`. */
export function readCredentialProviders(
  flags: AgentFlags,
  problems: Problem[],
): CredentialProvider[] {
  const { credentialProviderConfig: config, credentialProviderBinDir: binDir } = flags;
  if (config === undefined && binDir === undefined) return [];
  const flagFault = (where: string, found: string, expected: string): void =>
    void problems.push({ where, field: '', found, expected });
  if (config === undefined)
    flagFault(CONFIG_FLAG, 'nothing', `a file, because ${BIN_DIR_FLAG} is set`);
  if (binDir === undefined)
    flagFault(BIN_DIR_FLAG, 'nothing', `a directory, because ${CONFIG_FLAG} is set`);
  if (config === undefined || binDir === undefined) return [];
  if (!isDirectory(binDir)) flagFault(BIN_DIR_FLAG, shown(binDir), 'a directory');
  const before = problems.length;
  const providers: CredentialProvider[] = [];
  for (const { file, text: content } of configFiles(config, flagFault)) {
    const { found, problems: faults } = readDocuments(content, file, KINDS);
    problems.push(...faults);
    const document = found.get(KIND);
    if (faults.length > 0) continue; // what is missing then may only be misspelt
    if (document) providers.push(...providersOf(document, binDir, providers, problems));
    else problems.push({ where: `${file}:1`, field: '', found: 'no document', expected: KIND });
  }
  return problems.length > before ? [] : providers;
}

function configFiles(
  config: string,
  fault: (where: string, found: string, expected: string) => void,
): { file: string; text: string }[] {
  try {
    const files = isDirectory(config)
      ? fs
          .readdirSync(config)
          .filter((name) => /\.(?:ya?ml|json)$/.test(name))
          .sort()
          .map((name) => path.join(config, name))
      : [config];
    if (files.length === 0) fault(CONFIG_FLAG, 'an empty directory', '.yaml, .yml or .json files');
    return files.map((file) => ({ file, text: fs.readFileSync(file, 'utf8') }));
  } catch (error) {
    fault(
      CONFIG_FLAG,
      `an unreadable file (${messageOf(error)})`,
      'a file or directory that can be read',
    );
    return [];
  }
}

function providersOf(
  document: ReadDocument,
  binDir: string,
  earlier: readonly CredentialProvider[],
  problems: Problem[],
): CredentialProvider[] {
  const written = (document.value['providers'] ?? []) as readonly Written[];
  const names = new Set(earlier.map(({ name }) => name));
  const report: Report = (field, found, expected) =>
    void problems.push({ where: document.where(field), field: fieldName(field), found, expected });
  if (written.length === 0) report(['providers'], 'none', 'at least one provider');
  return written.map((provider, index) => {
    const at: Report = (field, found, expected) =>
      report(['providers', index, ...field], found, expected);
    checkName(provider, binDir, names, at);
    checkRest(provider, at);
    names.add(provider.name ?? '');
    const {
      name = '',
      matchImages = [],
      defaultCacheDuration = 0,
      apiVersion = '',
      args = [],
    } = provider;
    const env = (provider.env ?? []).map((pair) => ({
      name: pair.name ?? '',
      value: pair.value ?? '',
    }));
    const binary = path.join(binDir, name);
    return {
      name,
      binary,
      matchImages,
      defaultCacheDurationMs: defaultCacheDuration,
      apiVersion,
      args,
      env,
    };
  });
}

function checkName(
  { name = '' }: Written,
  binDir: string,
  taken: ReadonlySet<string>,
  report: Report,
): void {
  const wrong = (expected: string): void => report(['name'], shown(name), expected);
  if (name === '') return wrong('the name of a program');
  if (/[/\s\0]/.test(name) || name === '.' || name === '..')
    return wrong('the name of a program, without "/" and spaces');
  if (taken.has(name)) return wrong('each provider once');
  const file = path.join(binDir, name);
  try {
    fs.accessSync(file, fs.constants.X_OK);
    if (fs.statSync(file).isFile()) return;
  } catch {
    // Said below.
  }
  wrong(`a program ${file}`);
}

function checkRest(provider: Written, report: Report): void {
  const {
    matchImages = [],
    defaultCacheDuration,
    apiVersion = '',
    env = [],
    tokenAttributes,
  } = provider;
  if (matchImages.length === 0) report(['matchImages'], 'none', 'at least one pattern');
  matchImages.forEach((pattern, i) => {
    if (!isImagePattern(pattern))
      report(
        ['matchImages', i],
        shown(pattern),
        'a pattern such as *.registry.io:5000/path, without a scheme',
      );
  });
  if (defaultCacheDuration === undefined)
    report(['defaultCacheDuration'], 'nothing', 'a duration such as "10m", or "0s"');
  if (apiVersion === '') report(['apiVersion'], 'nothing', PLUGIN_API_VERSIONS.join(' or '));
  env.forEach(({ name = '' }, i) => {
    if (!/^[^=\0]+$/.test(name)) report(['env', i, 'name'], shown(name), 'the name of a variable');
  });
  if (tokenAttributes)
    report(
      ['tokenAttributes'],
      'a request for service account tokens',
      'nothing: they need an API server',
    );
}

/** A host with globs, maybe a port, maybe a path; brackets closed. */
function isImagePattern(pattern: string): boolean {
  return /^(?:[\w.*?-]|\[[^\][/\s]+\])+(?::\d+)?(?:\/\S*)?$/.test(pattern);
}

function isDirectory(file: string): boolean {
  return fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
