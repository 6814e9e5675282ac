/** Lifecycle handlers against real servers (spec: pod-lifecycle.md §9.1). */
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { after, describe, it } from 'node:test';
import type { HttpGetAction, LifecycleHandler } from '../../../src/api/pod.ts';
import { runHook } from '../../../src/runtime/hooks.ts';
import type { HookTarget } from '../../../src/runtime/hooks.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { ManualClock } from '../../support/clock.ts';

const seen: { url: string | undefined; host: string | undefined; raw: string[] }[] = [];
const server = http.createServer((request, response) => {
  seen.push({ url: request.url, host: request.headers.host, raw: request.rawHeaders });
  const to = new URL(request.url ?? '', 'http://x').searchParams.get('to');
  if (to !== null) response.writeHead(302, { location: to }).end();
  else response.writeHead(500).end('no\n'.repeat(1000));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as net.AddressInfo;
after(() => server.close());

const event = {
  ...{ kind: 'Pod' as const, namespace: 'default', name: 'web-edge1', uid: 'uid-1' },
  fieldPath: 'spec.containers{app}',
};
const target: HookTarget = {
  ...{ containerId: 'app-1', containerName: 'app', event },
  ...{ podIp: '127.0.0.1', ports: new Map([['web', port]]) },
};

class Hook {
  readonly clock = new ManualClock();
  readonly events: string[] = [];
  readonly asked: unknown[] = [];
  exec = { stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 0 };

  run(handler: LifecycleHandler, signal = new AbortController().signal): Promise<void> {
    const deps = {
      clock: this.clock,
      events: {
        event: (on: { fieldPath?: string }, _: string, reason: string, message: string) =>
          void this.events.push(`${on.fieldPath ?? 'pod'} ${reason}: ${message}`),
      },
      runtime: {
        execSync: (...args: unknown[]) => {
          this.asked.push(args.slice(0, 3));
          return Promise.resolve(this.exec);
        },
      },
    };
    return runHook(deps, handler, target, signal);
  }

  get(action: Partial<HttpGetAction>): Promise<void> {
    seen.length = 0;
    return this.run({ httpGet: { port, ...action } });
  }
}

const failsWith = (text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof IsletError);
  assert.match(error.message, text);
  return true;
};

describe('an exec hook', () => {
  it('runs without a time limit and without expanding anything', async () => {
    const hook = new Hook();
    await hook.run({ exec: { command: ['echo', '$(HOME)'] } });
    assert.deepEqual(hook.asked, [['app-1', ['echo', '$(HOME)'], 0]]);
  });

  it('fails with a part of what it said, however much that was', async () => {
    const hook = new Hook();
    hook.exec = { ...hook.exec, exitCode: 3, stderr: Buffer.alloc(5_000_000, 'x') };
    await assert.rejects(hook.run({ exec: { command: ['sh', '-c', 'x'] } }), (error: Error) => {
      assert.match(
        error.message,
        /^Exec lifecycle hook \(\[sh -c x\]\) for Container "app" in Pod "web-edge1_default\(uid-1\)" failed/,
      );
      assert.match(error.message, /exited with 3: x{1024}$/);
      return true;
    });
  });
});

describe('an httpGet hook', () => {
  it('goes to the pod, says who asks, and takes any answer', async () => {
    const hook = new Hook();
    await hook.get({ path: 'bye?now=1', port: 'web' });
    assert.equal(seen[0]?.url, '/bye?now=1');
    assert.equal(seen[0]?.host, `127.0.0.1:${port}`);
    assert.match(seen[0]?.raw.join(' ') ?? '', /User-Agent kube-lifecycle\/1\.36/);
  });

  it('sends the headers of the manifest, repeated ones repeatedly, and its Host', async () => {
    const httpHeaders = [
      { name: 'X-A', value: '1' },
      { name: 'X-A', value: '2' },
      { name: 'Host', value: 'me.test' },
    ];
    await new Hook().get({ httpHeaders });
    assert.equal(seen[0]?.host, 'me.test');
    const raw = seen[0]?.raw ?? [];
    assert.deepEqual(
      raw.flatMap((name, i) => (name === 'X-A' ? raw[i + 1] : [])),
      ['1', '2'],
    );
  });

  it('follows a redirect on its host, and takes one that leads away for an answer', async () => {
    await new Hook().get({ path: '/?to=/there' });
    assert.deepEqual(
      seen.map((s) => s.url),
      ['/?to=/there', '/there'],
    );
    await new Hook().get({ path: '/?to=http://elsewhere.invalid/' });
    assert.equal(seen.length, 1);
    const round = new Hook().get({ path: '/?to=%2F%3Fto%3D%2F' });
    await round;
    assert.equal(seen.length, 3);
  });

  it('asked over HTTPS and answered in plain HTTP: asks so, without the credentials, and says it', async () => {
    const hook = new Hook();
    const httpHeaders = [
      { name: 'Authorization', value: 'Bearer s3cret' },
      { name: 'X-A', value: '1' },
    ];
    await hook.get({ scheme: 'HTTPS', path: '/bye', httpHeaders });
    assert.deepEqual(
      seen.map((s) => s.url),
      ['/bye'],
    );
    assert.doesNotMatch(seen[0]?.raw.join(' ') ?? '', /s3cret/);
    assert.match(seen[0]?.raw.join(' ') ?? '', /X-A 1/);
    assert.deepEqual(hook.events, [
      `pod LifecycleHTTPFallback: request to HTTPS lifecycle hook 127.0.0.1:${port} got HTTP response, retry with HTTP succeeded`,
    ]);
  });

  it('fails when nobody answers, over HTTPS too', async () => {
    const closed = net.createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const nobody = (closed.address() as net.AddressInfo).port;
    await new Promise((resolve) => closed.close(resolve));
    for (const scheme of ['HTTP', 'HTTPS']) {
      const hook = new Hook();
      await assert.rejects(
        hook.get({ scheme, port: nobody, path: '/x' }),
        failsWith(/^HTTP lifecycle hook \(\/x\) for Container "app" .*ECONNREFUSED/),
      );
      assert.deepEqual(hook.events, []);
    }
  });

  it('names a port that the container does not have, and a header that cannot be sent', async () => {
    await assert.rejects(new Hook().get({ port: 'nope' }), failsWith(/couldn't find port: "nope"/));
    const httpHeaders = [{ name: 'X-A', value: 'a\nb' }];
    await assert.rejects(new Hook().get({ httpHeaders }), failsWith(/^HTTP lifecycle hook/));
    assert.equal(seen.length, 0);
  });
});

describe('other hooks', () => {
  it('sleep sleeps, and one that is cut off has failed', async () => {
    const hook = new Hook();
    let ended = false;
    const done = hook.run({ sleep: { seconds: 5 } }).then(() => (ended = true));
    await hook.clock.advance(4_999);
    assert.equal(ended, false);
    await hook.clock.advance(1);
    await done;
    const stop = new AbortController();
    const cut = hook.run({ sleep: { seconds: 5 } }, stop.signal);
    stop.abort(new Error('stopped'));
    await assert.rejects(
      cut,
      failsWith(/^Sleep lifecycle hook \(5\) .*container terminated before sleep hook finished$/),
    );
  });

  it('tcpSocket, which the API accepts, cannot run', async () => {
    await assert.rejects(
      new Hook().run({ tcpSocket: { port: 80 } }),
      failsWith(/^invalid handler/),
    );
  });
});
