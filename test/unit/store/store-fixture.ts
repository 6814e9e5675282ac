/** Owns: a store in a folder of its own, with a clock that only the test moves, for the store tests. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventTarget } from '../../../src/api/event.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import type { StoreNotice } from '../../../src/store/write-behind.ts';
import { createLogger } from '../../../src/util/log.ts';
import { ManualClock } from '../../support/clock.ts';

export class StoreFixture {
  readonly dir = mkdtempSync(join(tmpdir(), 'islet-store-'));
  readonly clock = new ManualClock();
  readonly notices: StoreNotice[] = [];
  readonly logs: { level: string; msg: string }[] = [];
  path = join(this.dir, 'state.db');
  store!: Store;

  open(limits = { maxEvents: 1000, maxAgeMs: 24 * 3_600_000 }): Store {
    this.store = openStore({
      path: this.path,
      clock: this.clock,
      logger: createLogger({
        sink: {
          write: (line: string) =>
            this.logs.push(JSON.parse(line) as { level: string; msg: string }),
        },
        level: 'debug',
        wall: () => 0,
        format: 'json',
      }),
      limits,
      notify: (notice) => this.notices.push(notice),
    });
    return this.store;
  }

  reopen(limits?: { maxEvents: number; maxAgeMs: number }): Store {
    this.store.close();
    return this.open(limits);
  }

  end(): void {
    this.store.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  files(): string[] {
    return readdirSync(this.dir).sort();
  }

  errors(): string[] {
    return this.logs.filter(({ level }) => level === 'error').map(({ msg }) => msg);
  }
}

export function target(uid: string, fieldPath?: string): EventTarget {
  const base: EventTarget = { kind: 'Pod', namespace: 'default', name: `pod-${uid}`, uid };
  return fieldPath === undefined ? base : { ...base, fieldPath };
}

/** Something in every record, under the given name. */
export function fill(store: Store, name: string): void {
  const content = Buffer.from(`name: ${name}`);
  store.lastGood.put({ file: `/m/${name}.yaml`, digest: name, content, seenAt: 5 });
  store.firstSeen.put(name, 6);
  const status = { phase: 'Running' as const, startTime: '2026-01-01T00:00:00Z' };
  store.pods.put({ uid: name, namespace: 'default', name, status });
  store.restarts.put(name, 'app', {
    count: 3,
    delayMs: 20_000,
    lastRestartWallMs: 7,
    endedWallMs: 9,
  });
  store.images.put(`image/${name}`, 8);
  store.events.event(target(name), 'Normal', 'Started', `started ${name}`);
}

/** What `fill` left, as text to compare. */
export function contents(store: Store): string[] {
  return [
    ...store.lastGood.all().map(({ file }) => {
      const content = Buffer.from(store.lastGood.get(file)?.content ?? []).toString();
      return `${file}: ${content}`;
    }),
    ...store.firstSeen.uids().map((uid) => `seen ${uid} ${store.firstSeen.get(uid)}`),
    ...store.pods.all().map(({ uid, status }) => `pod ${uid} ${status.phase}`),
    ...store.restarts
      .uids()
      .map((uid) => `restarts ${uid} ${JSON.stringify([...store.restarts.allOf(uid)])}`),
    ...store.images.all().map(({ ref, lastUsed }) => `${ref} ${lastUsed}`),
    ...store.events.list().map(({ uid, message, count }) => `event ${uid} ${message} ${count}`),
  ].sort();
}
