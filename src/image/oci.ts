/**
 * Owns: an image of one layer as an OCI archive, the form that `ctr images import` takes.
 * Invariant: the same image gives the same bytes and so the same digest.
 */
import { createHash } from 'node:crypto';
import { writeTar } from './tar.ts';
import type { TarEntry } from './tar.ts';

export interface OciImage {
  /** Full reference, e.g. `docker.io/library/busybox:latest`. */
  readonly name: string;
  readonly layer: readonly TarEntry[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env: readonly string[];
}

/** An image as a registry has it: its manifest, and every blob by its hex digest, the manifest's too. */
export interface OciContent {
  readonly manifest: Descriptor;
  readonly blobs: ReadonlyMap<string, Buffer>;
}

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Go's names of the machines that Node runs on; others have the same name in both. */
const GO_ARCH: Record<string, string> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

export function ociContent(image: OciImage, arch: string = process.arch): OciContent {
  const blobs = new Map<string, Buffer>();
  const add = (kind: string, body: Buffer): Descriptor => {
    const hex = createHash('sha256').update(body).digest('hex');
    blobs.set(hex, body);
    const mediaType = `application/vnd.oci.image.${kind}`;
    return { mediaType, digest: `sha256:${hex}`, size: body.length };
  };
  const layer = add('layer.v1.tar', writeTar(image.layer));
  const config = add(
    'config.v1+json',
    json({
      architecture: GO_ARCH[arch] ?? arch,
      os: 'linux',
      config: { Env: image.env, Entrypoint: image.entrypoint, Cmd: image.command },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  );
  const manifest = add(
    'manifest.v1+json',
    json({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config,
      layers: [layer],
    }),
  );
  return { manifest, blobs };
}

export function ociArchive(image: OciImage, arch: string = process.arch): Buffer {
  const { manifest, blobs } = ociContent(image, arch);
  // containerd takes the whole reference from its own annotation; `ref.name` may only hold a tag.
  const annotations = { 'io.containerd.image.name': image.name };
  const index = json({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] });
  return writeTar([
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', index),
    ...[...blobs].map(([hex, body]) => file(`blobs/sha256/${hex}`, body)),
  ]);
}

function file(path: string, body: Buffer): TarEntry {
  return { kind: 'file', path, mode: 0o644, body };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
