/**
 * Owns: validation of projected volumes: each source alone, and that no two write the same file.
 */
import type { Pod } from '../api/pod.ts';
import type { KeyToPath, ProjectedSourceItem, Volume } from '../api/volume.ts';
import { checkMode, checkVolumeFile } from './validate-path.ts';
import { validateDownwardItems, validateItems } from './validate-items.ts';
import type { Findings } from './validation.ts';

const LEAST_TOKEN_SECONDS = 600;
const MOST_TOKEN_SECONDS = 2 ** 32;

export function validateProjected(
  findings: Findings,
  path: string,
  { sources, defaultMode }: NonNullable<Volume['projected']>,
  pod: Pod,
): void {
  checkMode(findings, `${path}.defaultMode`, defaultMode);
  const files = new Set<string>();
  for (const [index, source] of (sources ?? []).entries()) {
    const at = `${path}.sources[${index}]`;
    const kinds = Object.keys(source);
    for (const kind of kinds.slice(1)) {
      findings.forbidden(`${at}.${kind}`, 'may not specify more than 1 volume type');
    }
    validateObjectSource(findings, `${at}.secret`, source.secret);
    validateObjectSource(findings, `${at}.configMap`, source.configMap);
    validateDownwardItems(findings, `${at}.downwardAPI.items`, source.downwardAPI?.items);
    validateToken(findings, `${at}.serviceAccountToken`, source, pod);
    validateBundle(findings, `${at}.clusterTrustBundle`, source.clusterTrustBundle);
    for (const file of filesOf(source)) {
      if (files.has(file)) findings.invalid(at, file, 'conflicting duplicate paths');
      files.add(file);
    }
  }
}

function validateObjectSource(
  findings: Findings,
  path: string,
  source: { name?: string; items?: KeyToPath[] } | undefined,
): void {
  if (!source) return;
  if ((source.name ?? '') === '') findings.required(`${path}.name`);
  validateItems(findings, `${path}.items`, source.items);
}

function validateToken(
  findings: Findings,
  path: string,
  { serviceAccountToken: token }: ProjectedSourceItem,
  pod: Pod,
): void {
  if (!token) return;
  const { expirationSeconds: seconds = LEAST_TOKEN_SECONDS } = token;
  if (!pod.spec.serviceAccountName) {
    findings.forbidden(path, 'must not be specified when serviceAccountName is not set');
  }
  if (seconds < LEAST_TOKEN_SECONDS) {
    const detail = 'may not specify a duration less than 10 minutes';
    findings.invalid(`${path}.expirationSeconds`, seconds, detail);
  }
  if (seconds > MOST_TOKEN_SECONDS) {
    const detail = 'may not specify a duration larger than 2^32 seconds';
    findings.invalid(`${path}.expirationSeconds`, seconds, detail);
  }
  if (token.path === '') findings.required(`${path}.path`);
  else checkVolumeFile(findings, `${path}.path`, token.path);
}

function validateBundle(
  findings: Findings,
  path: string,
  bundle: Record<string, unknown> | undefined,
): void {
  if (!bundle) return;
  const { name, signerName, path: file } = bundle as Record<string, string | undefined>;
  if (name === undefined && signerName === undefined) {
    findings.required(path, 'either name or signerName must be specified');
  }
  if (name !== undefined && signerName !== undefined) {
    findings.invalid(path, name, 'only one of name and signerName may be used');
  }
  if ((file ?? '') === '') findings.required(`${path}.path`);
  else checkVolumeFile(findings, `${path}.path`, file ?? '');
}

function filesOf(source: ProjectedSourceItem): string[] {
  const items = [source.secret, source.configMap, source.downwardAPI].flatMap(
    (part): { path: string }[] => part?.items ?? [],
  );
  const token = source.serviceAccountToken ? [source.serviceAccountToken.path] : [];
  return [...items.map(({ path }) => path), ...token].filter((path) => path !== '');
}
