/**
 * Owns: every number that both sides of the Wasm border must agree on. Compiled twice, by
 * AssemblyScript into the core and by TypeScript into the host glue, so it holds plain literals only
 * (no annotations that one of the two compilers does not know).
 *
 * One event record, RECORD_BYTES long, little endian u32 words:
 *
 *   word 0   | 0 | to | from | kind |        one byte each, kind in the lowest
 *   word 1   | offset of the entry  |        within the list that it came in; 0 when it vanished
 *   word 2   | length of the entry  |        0 when it vanished
 *   word 3   | address of its id    |        in linear memory, valid until the next `prepare`
 *   word 4   | length of its id     |
 *
 * The control block is COUNTER_WORDS u32 words: how many objects of each kind are in each listed
 * state after the last good scan, at index kind * LISTED_STATES + state.
 */

// Kinds of listed objects.
export const KIND_CONTAINER = 0;
export const KIND_SANDBOX = 1;
export const KINDS = 2;

// States of spec pleg.md §2, as records carry them.
export const STATE_NONE = 0;
export const STATE_RUNNING = 1;
export const STATE_EXITED = 2;
export const STATE_UNKNOWN = 3;
// Listed only: counted on its own for the gauges, but the same as STATE_UNKNOWN in a record.
export const STATE_CREATED = 4;
export const LISTED_STATES = 5;

export const COUNTER_WORDS = 10;

export const RECORD_BYTES = 20;
export const RECORD_HEAD = 0;
export const RECORD_OFFSET = 4;
export const RECORD_LENGTH = 8;
export const RECORD_ID = 12;
export const RECORD_ID_LENGTH = 16;
export const FROM_SHIFT = 8;
export const TO_SHIFT = 16;

// What `prepare` and `scan` return below zero. Nothing of the table has changed then.
export const ERROR_MEMORY = -1;
export const ERROR_TOO_MANY = -2;
export const ERROR_TRUNCATED = -3;
export const ERROR_VARINT = -4;
export const ERROR_TAG = -5;
export const ERROR_WIRE_TYPE = -6;
export const ERROR_GROUP = -7;
export const ERROR_DEPTH = -8;
export const ERROR_ORDER = -9;

// More bytes than this in the two lists together are refused before they are copied: 256 MiB.
export const MAX_LIST_BYTES = 268435456;
// More entries than this in the two lists together is not a node but an attack or a bug.
export const MAX_ENTRIES = 1048576;
// Groups nested deeper than this in an unknown field are refused, as other decoders do.
export const MAX_GROUP_DEPTH = 64;

// Field numbers and enum values of the CRI v1 messages that the core reads.
export const LIST_FIELD_ENTRY = 1;
export const ENTRY_FIELD_ID = 1;
export const CONTAINER_FIELD_STATE = 6;
export const SANDBOX_FIELD_STATE = 3;
export const CRI_CONTAINER_CREATED = 0;
export const CRI_CONTAINER_RUNNING = 1;
export const CRI_CONTAINER_EXITED = 2;
export const CRI_SANDBOX_READY = 0;
export const CRI_SANDBOX_NOTREADY = 1;

// How pods are ranked for eviction, and what the flags of a row say (rank.ts).
export const RANK_BY_USE = 0;
export const RANK_BY_PRIORITY = 1;
export const RANK_FLAG_STATS = 1;
export const RANK_FLAG_OVER = 2;
