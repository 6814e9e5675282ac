/**
 * Owns: the two messages of grpc.health.v1.Health/Check in bytes, and the frame around them. They are too
 * small for a generated codec.
 *
 *   HealthCheckRequest   1: string service
 *   HealthCheckResponse  1: enum status (varint)
 *   frame                1 byte: compressed (0) · 4 bytes: length, big endian · message
 */
const STATUS_NAMES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;
const SERVICE_TAG = 0x0a;
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const FRAME_HEAD = 5;

export function healthRequest(service: string): Buffer {
  if (service === '') return Buffer.alloc(0);
  const name = Buffer.from(service);
  return Buffer.concat([Buffer.from([SERVICE_TAG, ...varintOf(name.length)]), name]);
}

export function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** The message of the first frame; undefined when it is not whole, or compressed, which nobody asked for. */
export function unframe(bytes: Buffer): Buffer | undefined {
  if (bytes.length < FRAME_HEAD || bytes[0] !== 0) return undefined;
  const end = FRAME_HEAD + bytes.readUInt32BE(1);
  return end <= bytes.length ? bytes.subarray(FRAME_HEAD, end) : undefined;
}

/** The name of the status; undefined when the bytes are no such message. The last of several counts. */
export function healthStatus(message: Uint8Array): string | undefined {
  let status = 0;
  const cursor: Cursor = { bytes: message, at: 0 };
  while (cursor.at < message.length) {
    const tag = readVarint(cursor);
    if (tag === undefined) return undefined;
    const wire = tag & 7;
    if (tag >>> 3 === 1 && wire === VARINT) {
      const value = readVarint(cursor);
      if (value === undefined) return undefined;
      status = value;
    } else if (!skip(cursor, wire)) return undefined;
  }
  return STATUS_NAMES[status] ?? String(status);
}

interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
}

function varintOf(value: number): number[] {
  const out: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...out, rest];
    out.push((rest & 0x7f) | 0x80);
  }
}

/** The low 32 bits; undefined at the end of the bytes. */
function readVarint(cursor: Cursor): number | undefined {
  let value = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = cursor.bytes[cursor.at++];
    if (byte === undefined) return undefined;
    if (shift < 32) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value >>> 0;
  }
  return undefined;
}

/** Over a field that is not ours; false when it is not whole. */
function skip(cursor: Cursor, wire: number): boolean {
  let length = 0;
  if (wire === VARINT) return readVarint(cursor) !== undefined;
  if (wire === FIXED64) length = 8;
  else if (wire === FIXED32) length = 4;
  else if (wire === BYTES) length = readVarint(cursor) ?? Infinity;
  else return false;
  cursor.at += length;
  return cursor.at <= cursor.bytes.length;
}
