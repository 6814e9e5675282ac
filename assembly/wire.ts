/**
 * Owns: the protobuf wire format, on a range of linear memory.
 * Every function takes the position and the end and returns one u64: the value in the high half, the
 * position behind it in the low half. Position 0 is never valid, so a low half of 0 says that the
 * high half holds an error code of layout.ts instead.
 * Invariants: no byte at or behind `end` is read; every loop moves the position on or ends.
 * Leaves to others: what the fields mean.
 */
import {
  ERROR_DEPTH,
  ERROR_GROUP,
  ERROR_TAG,
  ERROR_TRUNCATED,
  ERROR_VARINT,
  ERROR_WIRE_TYPE,
  MAX_GROUP_DEPTH,
} from './layout';

export const WIRE_VARINT: u32 = 0;
export const WIRE_FIXED64: u32 = 1;
export const WIRE_BYTES: u32 = 2;
export const WIRE_GROUP: u32 = 3;
export const WIRE_GROUP_END: u32 = 4;
export const WIRE_FIXED32: u32 = 5;

function pack(value: u32, position: usize): u64 {
  return ((<u64>value) << 32) | (<u64>position);
}

export function fail(code: i32): u64 {
  return (<u64>(<u32>code)) << 32;
}

export function failed(result: u64): bool {
  return <u32>result === 0;
}

export function valueOf(result: u64): u32 {
  return <u32>(result >> 32);
}

export function positionOf(result: u64): usize {
  return <usize>(<u32>result);
}

/** The low 32 bits of a varint of up to 64 bits: what an enum keeps of it. */
export function readVarint(start: usize, end: usize): u64 {
  let position = start;
  let value: u64 = 0;
  for (let shift: u64 = 0; shift < 70; shift += 7) {
    if (position >= end) return fail(ERROR_TRUNCATED);
    const byte = <u64>load<u8>(position++);
    if (shift === 63 && byte > 1) return fail(ERROR_VARINT);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return pack(<u32>value, position);
  }
  return fail(ERROR_VARINT);
}

/** Time stamps are nine bytes long, so eight are looked at in one go where there are that many. */
function skipVarint(position: usize, end: usize): u64 {
  if (end - position >= 9) {
    const last = ~load<u64>(position) & 0x8080808080808080;
    if (last !== 0) return pack(0, position + <usize>(ctz(last) >> 3) + 1);
    if (load<u8>(position, 8) < 0x80) return pack(0, position + 9);
  }
  const varint = readVarint(position, end);
  return failed(varint) ? varint : pack(0, positionOf(varint));
}

/** A varint that must fit 32 bits: a tag. */
export function readTag(position: usize, end: usize): u64 {
  if (position < end) {
    const byte = load<u8>(position);
    if (byte < 0x80) return byte < 8 ? fail(ERROR_TAG) : pack(byte, position + 1);
  }
  return readLongTag(position, end);
}

function readLongTag(start: usize, end: usize): u64 {
  let position = start;
  let value: u64 = 0;
  for (let shift: u64 = 0; shift < 35; shift += 7) {
    if (position >= end) return fail(ERROR_TRUNCATED);
    const byte = <u64>load<u8>(position++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (value > u32.MAX_VALUE || value < 8) return fail(ERROR_TAG);
      return pack(<u32>value, position);
    }
  }
  return fail(ERROR_TAG);
}

/** A length prefix. The bytes it announces lie before `end`, or it is an error. */
export function readLength(position: usize, end: usize): u64 {
  if (position < end) {
    const byte = <usize>load<u8>(position);
    if (byte < 0x80) {
      return byte > end - position - 1 ? fail(ERROR_TRUNCATED) : pack(<u32>byte, position + 1);
    }
  }
  return readLongLength(position, end);
}

function readLongLength(start: usize, end: usize): u64 {
  let position = start;
  let value: u64 = 0;
  for (let shift: u64 = 0; shift < 70; shift += 7) {
    if (position >= end) return fail(ERROR_TRUNCATED);
    const byte = <u64>load<u8>(position++);
    if (shift === 63 && byte > 1) return fail(ERROR_VARINT);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      return value > <u64>(end - position) ? fail(ERROR_TRUNCATED) : pack(<u32>value, position);
    }
  }
  return fail(ERROR_VARINT);
}

/** The position behind a field whose tag was just read; the value half is 0. */
export function skip(tag: u32, position: usize, end: usize): u64 {
  const wireType = tag & 7;
  if (wireType === WIRE_BYTES) {
    const length = readLength(position, end);
    if (failed(length)) return length;
    return pack(0, positionOf(length) + <usize>valueOf(length));
  }
  if (wireType === WIRE_VARINT) {
    return skipVarint(position, end);
  }
  if (wireType === WIRE_FIXED64) return skipFixed(8, position, end);
  if (wireType === WIRE_FIXED32) return skipFixed(4, position, end);
  if (wireType === WIRE_GROUP) return skipGroup(tag >> 3, position, end, 1);
  return fail(wireType === WIRE_GROUP_END ? ERROR_GROUP : ERROR_WIRE_TYPE);
}

function skipFixed(size: usize, position: usize, end: usize): u64 {
  return size > end - position ? fail(ERROR_TRUNCATED) : pack(0, position + size);
}

/** Everything up to the end tag of the same field. Recursion is bounded by MAX_GROUP_DEPTH. */
function skipGroup(field: u32, start: usize, end: usize, depth: i32): u64 {
  if (depth > MAX_GROUP_DEPTH) return fail(ERROR_DEPTH);
  let position = start;
  while (true) {
    const read = readTag(position, end);
    if (failed(read)) return read;
    const tag = valueOf(read);
    position = positionOf(read);
    const wireType = tag & 7;
    if (wireType === WIRE_GROUP_END) {
      return tag >> 3 === field ? pack(0, position) : fail(ERROR_GROUP);
    }
    const skipped =
      wireType === WIRE_GROUP
        ? skipGroup(tag >> 3, position, end, depth + 1)
        : skip(tag, position, end);
    if (failed(skipped)) return skipped;
    position = positionOf(skipped);
  }
}
