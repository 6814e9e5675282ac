/**
 * Owns: the images that islet makes itself where no registry can be reached: busybox for samples and
 * tests, and a sandbox image; and their import into containerd, when they are missing.
 * Leaves to others: pulling (this never replaces an image that is there), image GC.
 */
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../util/clock.ts';
import { IsletError } from '../util/errors.ts';
import { ociArchive } from './oci.ts';
import type { OciImage } from './oci.ts';
import type { TarEntry } from './tar.ts';

export const BUSYBOX_IMAGE = 'docker.io/library/busybox:latest';

const BUSYBOX_PATHS = ['/bin/busybox', '/usr/bin/busybox', '/usr/local/bin/busybox'];
const ENV = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
/**
 * PID 1 of a sandbox. It must end at once on SIGTERM, else stopping any pod takes the runtime's whole
 * time-out, and it must reap what a shared PID namespace leaves to it; the shell's `wait` does both.
 */
const PAUSE_SCRIPT =
  'trap \'kill "$!" 2>/dev/null; exit 0\' TERM INT; while :; do sleep 2147483647 & wait "$!"; done';
/** How long the CRI plugin may take to notice an imported image. */
const NOTICE_MS = 10_000;
const NOTICE_POLL_MS = 50;

/** An image to have: its name, and what it is for. */
export interface LocalImage {
  readonly name: string;
  readonly kind: 'busybox' | 'pause';
}

export interface LocalImagesDeps {
  /** Absolute path of `ctr`, which comes with containerd. */
  readonly ctr: string;
  readonly socket: string;
  /** The snapshotter that containers will use; default containerd's own, overlayfs. */
  readonly snapshotter?: string;
  readonly images: readonly LocalImage[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Makes and imports the images that are missing, and returns their names. Resolves when the runtime
 * knows them. Throws `not-found` without busybox on this host, `unavailable` or `failed` from ctr.
 */
export async function ensureLocalImages(deps: LocalImagesDeps): Promise<string[]> {
  const present = new Set(lines(await ctr(deps, ['images', 'ls', '-q'])));
  const missing = deps.images.filter((image) => !present.has(image.name));
  if (missing.length === 0) return [];
  const busybox = await readBusybox();
  const unpack = deps.snapshotter === undefined ? [] : ['--snapshotter', deps.snapshotter];
  for (const image of missing) {
    const archive = ociArchive(localImage(image, busybox));
    await ctr(deps, ['images', 'import', ...unpack, '-'], archive);
  }
  for (const image of missing) await noticed(deps, image.name);
  return missing.map((image) => image.name);
}

export interface Busybox {
  readonly binary: Buffer;
  readonly applets: readonly string[];
}

/** The layer and configuration of one local image; pure. */
export function localImage(image: LocalImage, busybox: Busybox): OciImage {
  const base = { name: image.name, layer: busyboxLayer(busybox), env: ENV };
  return image.kind === 'busybox'
    ? { ...base, command: ['sh'] }
    : { ...base, entrypoint: ['/bin/sh', '-c', PAUSE_SCRIPT] };
}

function busyboxLayer({ binary, applets }: Busybox): TarEntry[] {
  const dir = (path: string, mode = 0o755): TarEntry => ({ kind: 'dir', path, mode });
  const text = (path: string, body: string): TarEntry => ({
    kind: 'file',
    path,
    mode: 0o644,
    body: Buffer.from(body),
  });
  const links = applets.filter((name) => name !== 'busybox').toSorted();
  return [
    dir('bin'),
    { kind: 'file', path: 'bin/busybox', mode: 0o755, body: binary },
    ...links.map((name): TarEntry => ({ kind: 'link', path: `bin/${name}`, target: 'busybox' })),
    dir('etc'),
    text('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n'),
    text('etc/group', 'root:x:0:\nnobody:x:65534:\n'),
    dir('root', 0o700),
    dir('tmp', 0o1777),
    dir('usr'),
    { kind: 'link', path: 'usr/bin', target: '../bin' },
    dir('var'),
    dir('var/tmp', 0o1777),
    dir('var/www'),
  ];
}

async function readBusybox(): Promise<Busybox> {
  const path = BUSYBOX_PATHS.find((candidate) => fs.existsSync(candidate));
  if (path === undefined)
    throw new IsletError(
      'not-found',
      `busybox is not in any of ${BUSYBOX_PATHS.join(', ')} (Debian package busybox-static)`,
    );
  const { stdout } = await promisify(execFile)(path, ['--list']);
  return { binary: fs.readFileSync(path), applets: lines(stdout) };
}

/** The CRI plugin labels an image when it has taken it into its own list. */
async function noticed(deps: LocalImagesDeps, name: string): Promise<void> {
  const deadline = deps.clock.monotonic() + NOTICE_MS;
  for (;;) {
    const table = await ctr(deps, ['images', 'ls', `name==${name}`]);
    if (table.includes('io.cri-containerd.image=managed')) return;
    if (deps.clock.monotonic() > deadline)
      throw new IsletError('deadline', `import image ${name}: the CRI plugin does not list it`);
    await deps.clock.sleep(NOTICE_POLL_MS, deps.signal);
  }
}

function ctr(deps: LocalImagesDeps, args: readonly string[], stdin?: Buffer): Promise<string> {
  const verb = args.slice(0, 2).join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(deps.ctr, ['-a', deps.socket, '-n', 'k8s.io', ...args], {
      signal: deps.signal,
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.once('error', (error) =>
      reject(new IsletError('failed', `ctr ${verb}`, { cause: error })),
    );
    child.once('close', (code) => {
      if (code === 0) resolve(out);
      else reject(new IsletError('failed', `ctr ${verb}: ${err.trim() || `exit code ${code}`}`));
    });
    // A child that ended early closes the pipe; its exit code tells why.
    child.stdin.on('error', () => undefined).end(stdin);
  });
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
