/**
 * One of the two processes around the agent in probes.ts: `runtime` (a CRI runtime in memory) or a server that the
 * probes ask, `grpc`, `http` or `tcp`. Says where it is to its parent, and ends with it.
 */
import http from 'node:http';
import net from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { FakeCri } from '../support/fake-cri.ts';

/** The runtime's socket, or the server's port. */
export type TargetAddress = string | number;

const SERVING = Buffer.from([8, 1]);

async function runtime(): Promise<TargetAddress> {
  const cri = await FakeCri.start();
  // Every sandbox has an address of this machine, so that network probes get to the server.
  cri.runtime.addressOf = (nth) => `127.1.${nth >> 8}.${nth & 255}`;
  // What was asked is remembered for tests; here it would only grow.
  setInterval(() => (cri.calls.length = 0), 1000);
  process.once('disconnect', () => cri.stop());
  return cri.socket;
}

function health(): Promise<TargetAddress> {
  const same = (bytes: Buffer): Buffer => bytes;
  const method = {
    ...{ path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false },
    ...{ requestSerialize: same, requestDeserialize: same },
    ...{ responseSerialize: same, responseDeserialize: same },
  };
  const server = new Server();
  server.addService(
    { Check: method },
    {
      Check: (_: unknown, answer: (error: null, message: Buffer) => void) => answer(null, SERVING),
    },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync('0.0.0.0:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

function listen(server: net.Server): Promise<TargetAddress> {
  return new Promise((resolve) => {
    server.listen(0, '0.0.0.0', 1024, () => resolve((server.address() as net.AddressInfo).port));
  });
}

const targets: Readonly<Record<string, () => Promise<TargetAddress>>> = {
  runtime,
  grpc: health,
  http: () => listen(http.createServer((_, answer) => answer.end('ok'))),
  tcp: () => listen(net.createServer((socket) => socket.resume().on('error', () => undefined))),
};

const start = targets[process.argv[2] ?? ''];
if (start && process.send) {
  process.once('disconnect', () => process.exit());
  process.send(await start());
}
