/**
 * usage: node build/test/support/with-containerd.js -- COMMAND [ARGUMENT]…
 * Runs a command against a containerd of its own: CONTAINERD_ADDRESS names the socket. Ends with the
 * command's exit code, after everything that was started is gone.
 */
import { spawn } from 'node:child_process';
import { startContainerd } from './containerd.ts';

const separator = process.argv.indexOf('--');
const [command, ...args] = separator < 0 ? [] : process.argv.slice(separator + 1);
if (command === undefined) {
  console.error('usage: with-containerd.js -- COMMAND [ARGUMENT]…');
  process.exit(2);
}

const containerd = await startContainerd();
const code = await new Promise<number>((resolve) => {
  const env = { ...process.env, CONTAINERD_ADDRESS: containerd.socket };
  const child = spawn(command, args, { stdio: 'inherit', env });
  child.once('error', (error) => {
    console.error(`${command}: ${error.message}`);
    resolve(127);
  });
  child.once('exit', (status, signal) => resolve(signal === null ? (status ?? 1) : 1));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void child.kill(signal));
});
await containerd.stop();
process.exit(code);
