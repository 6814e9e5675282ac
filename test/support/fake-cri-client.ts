/**
 * Owns: a client and the fake runtime it talks to, both ended with the test.
 */
import type { TestContext } from 'node:test';
import { createCriClient } from '../../src/cri/client.ts';
import type { CriClient, CriClientDeps } from '../../src/cri/client.ts';
import { SystemClock } from '../../src/util/clock.ts';
import { createLogger } from '../../src/util/log.ts';
import { FakeCri } from './fake-cri.ts';

export interface Connected extends CriClient {
  readonly fake: FakeCri;
}

export const silent = createLogger({ sink: { write: () => {} }, level: 'error', wall: () => 0 });

export async function connect(
  t: TestContext,
  more: Partial<CriClientDeps> = {},
): Promise<Connected> {
  const fake = await FakeCri.start();
  const client = createCriClient({
    endpoint: `unix://${fake.socket}`,
    requestTimeoutMs: 120_000,
    clock: new SystemClock(),
    logger: silent,
    ...more,
  });
  t.after(() => {
    client.close();
    fake.stop();
  });
  return { fake, ...client };
}
