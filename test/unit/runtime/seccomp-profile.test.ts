import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ConfigError } from '../../../src/runtime/config-error.ts';
import { requireSeccompProfile } from '../../../src/runtime/seccomp-profile.ts';

test('a profile of the node has to be there; others need no file', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'islet-seccomp-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const localhostRef = path.join(dir, 'p.json');
  const profile = { type: 'localhost' as const, localhostRef };
  const refused = (found: string, ref: string) => (error: unknown) =>
    error instanceof ConfigError &&
    error.reason === 'CreateContainerConfigError' &&
    error.message ===
      `seccompProfile.localhostProfile: found ${found} at ${ref}, expected a seccomp profile in JSON`;
  await assert.rejects(requireSeccompProfile(profile), refused('nothing', localhostRef));
  await assert.rejects(
    requireSeccompProfile({ ...profile, localhostRef: dir }),
    refused('no file', dir),
  );
  fs.writeFileSync(localhostRef, '{}');
  await requireSeccompProfile(profile);
  await requireSeccompProfile({ type: 'runtime-default' });
  await requireSeccompProfile(undefined);
});
