import { styleText } from 'node:util';
import { head, widthOf } from './text.js';

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan' | 'magenta' | 'blue';

/** A piece of a line, in one style. */
export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
}

export type Line = readonly Span[];

export function span(text: string, style?: Style): Span {
  return { text, style };
}

/** A line for the terminal, no wider than this; escape sequences take no room. */
export function render(line: Line, width: number, inColor: boolean): string {
  let rest = width;
  let result = '';
  for (const { text, style } of line) {
    const shown = head(text, rest);
    rest -= widthOf(shown);
    result += style && inColor ? styleText(style, shown) : shown;
  }
  return result;
}
