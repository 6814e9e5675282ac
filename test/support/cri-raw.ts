/**
 * Owns: the few CRI calls that the test set-up itself needs, on raw bytes, so that it does not
 * depend on the client under test. Field numbers are those of CRI v1.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';

const CALL_MS = 30_000;

/** Whether `Version` is answered on the socket. */
export async function criAnswers(socket: string): Promise<boolean> {
  return call(socket, 'Version', Buffer.alloc(0), 2000).then(
    () => true,
    () => false,
  );
}

/** Runs a sandbox on the pod network; returns its id. */
export async function runSandbox(socket: string, name: string): Promise<string> {
  const metadata = [...field(1, name), ...field(2, `uid-${name}`), ...field(3, 'default')];
  const request = field(1, [...field(1, metadata), ...field(2, name)]);
  const answer = await call(socket, 'RunPodSandbox', Buffer.from(request), CALL_MS);
  return answer.subarray(2).toString();
}

/** Stops and removes every sandbox, with its containers, addresses and rules. */
export async function removeSandboxes(ctr: string, socket: string): Promise<void> {
  const { stdout } = await promisify(execFile)(ctr, [
    ...['-a', socket, '-n', 'k8s.io', 'containers', 'ls', '-q'],
    'labels."io.cri-containerd.kind"==sandbox',
  ]);
  for (const id of stdout.split('\n').filter(Boolean)) {
    const request = Buffer.from(field(1, id));
    await call(socket, 'StopPodSandbox', request, CALL_MS);
    await call(socket, 'RemovePodSandbox', request, CALL_MS);
  }
}

/** A length-delimited field of less than 128 bytes. */
function field(number: number, value: string | number[]): number[] {
  const bytes = typeof value === 'string' ? [...Buffer.from(value)] : value;
  if (bytes.length > 127) throw new Error('too long for one length byte');
  return [(number << 3) | 2, bytes.length, ...bytes];
}

function call(socket: string, method: string, request: Buffer, ms: number): Promise<Buffer> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise<Buffer>((resolve, reject) => {
    client.makeUnaryRequest(
      `/runtime.v1.RuntimeService/${method}`,
      same,
      same,
      request,
      { deadline: Date.now() + ms },
      (error, answer) => {
        client.close();
        if (error) reject(error);
        else resolve(answer ?? Buffer.alloc(0));
      },
    );
  });
}
