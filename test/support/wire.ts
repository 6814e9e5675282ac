/**
 * Owns: protobuf bytes written by hand, right or wrong on purpose, so that tests of the relist depend on
 * no generated code. Field numbers are those of CRI v1.
 */

/** A varint of up to 64 bits; negative numbers as two's complement, ten bytes long. */
export function varint(value: number | bigint): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

export function tag(field: number, wireType: number): Uint8Array {
  return varint((BigInt(field) << 3n) | BigInt(wireType));
}

export function varintField(field: number, value: number | bigint): Uint8Array {
  return concat(tag(field, 0), varint(value));
}

export function bytesField(field: number, value: Uint8Array | string): Uint8Array {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return concat(tag(field, 2), varint(bytes.length), bytes);
}

export function mapField(field: number, map: Record<string, string>): Uint8Array {
  return concat(
    ...Object.entries(map).map(([key, value]) =>
      bytesField(field, concat(bytesField(1, key), bytesField(2, value))),
    ),
  );
}

export interface WireContainer {
  readonly id: string;
  readonly sandboxId?: string;
  readonly name?: string;
  readonly attempt?: number;
  readonly image?: string;
  /** CONTAINER_CREATED 0, RUNNING 1, EXITED 2, UNKNOWN 3. */
  readonly state?: number;
  readonly createdAt?: bigint;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

export interface WireSandbox {
  readonly id: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly attempt?: number;
  /** SANDBOX_READY 0, SANDBOX_NOTREADY 1. */
  readonly state?: number;
  readonly createdAt?: bigint;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

/** runtime.v1.Container, defaults left out as encoders do. */
export function encodeContainer(container: WireContainer): Uint8Array {
  const metadata = concat(text(1, container.name), number(2, container.attempt));
  return concat(
    text(1, container.id),
    text(2, container.sandboxId),
    metadata.length > 0 ? bytesField(3, metadata) : metadata,
    container.image === undefined
      ? new Uint8Array()
      : concat(bytesField(4, bytesField(1, container.image)), bytesField(5, container.image)),
    number(6, container.state),
    number(7, container.createdAt),
    mapField(8, container.labels ?? {}),
    mapField(9, container.annotations ?? {}),
  );
}

/** runtime.v1.PodSandbox. */
export function encodeSandbox(sandbox: WireSandbox): Uint8Array {
  const metadata = concat(
    text(1, sandbox.name),
    text(2, sandbox.uid),
    text(3, sandbox.namespace),
    number(4, sandbox.attempt),
  );
  return concat(
    text(1, sandbox.id),
    metadata.length > 0 ? bytesField(2, metadata) : metadata,
    number(3, sandbox.state),
    number(4, sandbox.createdAt),
    mapField(5, sandbox.labels ?? {}),
    mapField(6, sandbox.annotations ?? {}),
  );
}

/** runtime.v1.ListContainersResponse. */
export function encodeContainerList(containers: readonly WireContainer[]): Uint8Array {
  return concat(...containers.map((container) => bytesField(1, encodeContainer(container))));
}

/** runtime.v1.ListPodSandboxResponse. */
export function encodeSandboxList(sandboxes: readonly WireSandbox[]): Uint8Array {
  return concat(...sandboxes.map((sandbox) => bytesField(1, encodeSandbox(sandbox))));
}

function text(field: number, value: string | undefined): Uint8Array {
  return value ? bytesField(field, value) : new Uint8Array();
}

function number(field: number, value: number | bigint | undefined): Uint8Array {
  return value ? varintField(field, value) : new Uint8Array();
}
