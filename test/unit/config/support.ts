/** Loads a configuration from a text, in a temporary directory that is gone afterwards. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { loadConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/model.ts';
import { codeOf, messageOf } from '../../../src/util/errors.ts';

export const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
export const ISLET_HEAD = 'apiVersion: islet.dev/v1alpha1\nkind: IsletConfiguration\n';

/** `flags` are commander's names; `$DIR` in the text is the directory of the file. */
export function load(text: string | undefined, flags: Record<string, string> = {}): Config {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-config-'));
  try {
    const file = path.join(directory, 'config.yaml');
    if (text !== undefined) fs.writeFileSync(file, text.replaceAll('$DIR', directory));
    return loadConfig(text === undefined ? flags : { ...flags, config: file }, {
      cwd: directory,
      hostname: 'Edge-7',
      cores: 4,
    });
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
}

/** The lines of the error, each from the file's line number on; throws when the text is accepted. */
export function faults(text: string | undefined, flags: Record<string, string> = {}): string[] {
  try {
    load(text, flags);
  } catch (error) {
    if (codeOf(error) !== 'invalid') throw error;
    return messageOf(error)
      .split('\n')
      .map((line) => line.replace(/^\/.*config\.yaml:/, ''));
  }
  throw new Error('the configuration was accepted');
}
