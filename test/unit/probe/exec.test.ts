import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExecResult, RuntimeService } from '../../../src/cri/model.ts';
import { probeCommand, probeExec } from '../../../src/probe/exec.ts';
import type { Outcome } from '../../../src/probe/model.ts';
import { IsletError } from '../../../src/util/errors.ts';
import { ManualClock } from '../../support/clock.ts';
import { containerOf } from '../../support/pods.ts';
import { limitOf, subjectOf } from './support.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const result = (exitCode: number, stdout = '', stderr = ''): ExecResult => ({
  exitCode,
  stdout: bytes(stdout),
  stderr: bytes(stderr),
});
const hangs = <T>(signal?: AbortSignal): Promise<T> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));

type Runtime = Pick<RuntimeService, 'execSync' | 'version'>;
const version = (): ReturnType<RuntimeService['version']> =>
  Promise.resolve({ version: '', runtimeName: '', runtimeVersion: '', runtimeApiVersion: 'v1' });

function run(runtime: Partial<Runtime>, clock = new ManualClock()): Promise<Outcome> {
  const subject = subjectOf({ exec: { command: ['sleep', '9'] }, timeoutSeconds: 2 });
  const whole = { version, execSync: () => Promise.resolve(result(0)), ...runtime };
  return probeExec(whole, subject, limitOf(clock));
}

const TIMED_OUT: Outcome = {
  kind: 'failure',
  text: 'command timed out: "sleep 9" timed out after 2s',
};

describe('an exec probe', () => {
  it('asks the runtime with the command and the time', async () => {
    const calls: unknown[] = [];
    const outcome = await run({
      execSync: (id, command, seconds) => {
        calls.push([id, command, seconds]);
        return Promise.resolve(result(0));
      },
    });
    assert.deepEqual(outcome, { kind: 'success' });
    assert.deepEqual(calls, [['c1', ['sleep', '9'], 2]]);
  });

  it('fails with the output of the command', async () => {
    const outcome = await run({ execSync: () => Promise.resolve(result(1, 'out ', 'err')) });
    assert.deepEqual(outcome, { kind: 'failure', text: 'out err' });
  });

  it('shows 10 KiB of the output', async () => {
    const outcome = await run({ execSync: () => Promise.resolve(result(1, 'x'.repeat(20_000))) });
    assert.equal(outcome.kind === 'failure' && outcome.text.length, 10_240);
  });

  it('fails when the runtime says the time is up', async () => {
    const execSync = (): Promise<never> => Promise.reject(new IsletError('deadline', 'late'));
    assert.deepEqual(await run({ execSync }), TIMED_OUT);
  });

  it('fails when the command holds the runtime up and the runtime is there', async () => {
    const clock = new ManualClock();
    const outcome = run({ execSync: (_id, _command, _seconds, signal) => hangs(signal) }, clock);
    await clock.advance(7000);
    assert.deepEqual(await outcome, TIMED_OUT);
  });

  it('is an error when nothing of the runtime answers', async () => {
    const clock = new ManualClock();
    const runtime: Runtime = { version: hangs, execSync: (_i, _c, _s, signal) => hangs(signal) };
    const outcome = run(runtime, clock);
    await clock.advance(12_000);
    assert.deepEqual(await outcome, {
      ...{ kind: 'error', state: 'unknown' },
      text: 'the runtime does not answer',
    });
  });

  it('is an error when the runtime is gone', async () => {
    const execSync = (): Promise<never> => Promise.reject(new IsletError('unavailable', 'gone'));
    const outcome = await run({ execSync });
    assert.deepEqual(outcome, { kind: 'error', text: 'gone', state: 'unknown' });
  });

  it('knows the literal variables of the container only', () => {
    const env = [
      { name: 'A', value: 'x' },
      { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'EMPTY' },
    ];
    const command = probeCommand(containerOf('app', { env }), [
      '$(A)',
      '-$(B)-',
      '-$(EMPTY)-',
      '$(C)',
      '$$(A)',
    ]);
    assert.deepEqual(command, ['x', '-$(B)-', '--', '$(C)', '$(A)']);
  });
});
