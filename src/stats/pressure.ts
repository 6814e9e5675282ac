/**
 * Owns: pressure files (PSI) of the kernel, of the node and of cgroups v2.
 *
 *   some avg10=0.12 avg60=0.05 avg300=0.01 total=12345
 *   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 */
import type { Pressure, PressureLine } from './model.ts';
import { readText } from './text-file.ts';

export type PressureResource = 'cpu' | 'memory' | 'io';

/** undefined where the kernel has none, also when it was built with it and booted without. */
export function readPressure(file: string): Pressure | undefined {
  const text = readText(file);
  return text === undefined ? undefined : parsePressure(text);
}

export function parsePressure(text: string): Pressure | undefined {
  const lines = new Map<string, PressureLine>();
  for (const line of text.split('\n')) {
    const [kind = '', ...fields] = line.trim().split(' ');
    const values = new Map(fields.map((field) => field.split('=', 2) as [string, string]));
    const value = (name: string): number => Number(values.get(name));
    const parsed = {
      total: value('total'),
      avg10: value('avg10'),
      avg60: value('avg60'),
      avg300: value('avg300'),
    };
    if (!Object.values(parsed).some(Number.isNaN)) lines.set(kind, parsed);
  }
  const [some, full] = [lines.get('some'), lines.get('full')];
  return some && { some, ...(full && { full }) };
}
