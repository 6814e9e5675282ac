/**
 * Owns: colours, which are for terminals only. https://no-color.org is respected.
 */
import type { Output } from './io.ts';

export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';

export type Paint = (text: string, colour: Colour | undefined) => string;

const CODE: Record<Colour, number> = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 };

export function painter(output: Output, env: Readonly<Record<string, string | undefined>>): Paint {
  if (!output.isTTY || env['NO_COLOR'] || env['TERM'] === 'dumb') return (text) => text;
  return (text, colour) => (colour ? `\x1b[${CODE[colour]}m${text}\x1b[0m` : text);
}
