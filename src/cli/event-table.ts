/**
 * Owns: events as rows: their age with the count, their order.
 */
import type { EventView } from '../server/view.ts';
import type { Colour } from './colour.ts';
import { humanDuration } from './duration.ts';
import type { Cell } from './table.ts';

/** `5m`, or `5m (x3 over 10m)` for what happened more than once. */
export function eventAge(event: EventView, wallMs: number): string {
  const last = humanDuration(wallMs - event.lastSeenMs);
  if (event.count <= 1) return last;
  return `${last} (x${event.count} over ${humanDuration(wallMs - event.firstSeenMs)})`;
}

export function typeCell(event: EventView): Cell {
  const colour: Colour | undefined = event.type === 'Warning' ? 'yellow' : undefined;
  return { text: event.type, ...(colour && { colour }) };
}

export function bySeen(a: EventView, b: EventView): number {
  return a.lastSeenMs - b.lastSeenMs;
}
