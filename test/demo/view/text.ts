/** Characters that take two columns: East Asian ones, and pictures. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;
const WITHOUT_WIDTH = /\p{Mn}/u;
const CONTROL = /\p{C}/gu;

/** Makes text of others harmless on a terminal: a file's name may hold anything. */
export function clean(text: string): string {
  return text.replace(CONTROL, '\uFFFD');
}

export function widthOf(text: string): number {
  return Array.from(text).reduce((sum, character) => sum + widthOfOne(character), 0);
}

/** Exactly this wide: filled with spaces, or cut at the end. */
export function left(text: string, width: number): string {
  return fill(widthOf(text) > width ? `${head(text, width - 1)}…` : text, width);
}

/** Exactly this wide, at the right: numbers. */
export function right(text: string, width: number): string {
  return ' '.repeat(Math.max(width - widthOf(text), 0)) + text;
}

/** Exactly this wide; of a path that is too long, the end is kept, since that is what tells files apart. */
export function leftPath(path: string, width: number): string {
  if (widthOf(path) <= width) return fill(path, width);
  const tail = Array.from(head(Array.from(path).reverse().join(''), width - 1)).reverse();
  return fill(`…${tail.join('')}`, width);
}

/** The beginning of a text, no wider than this. */
export function head(text: string, width: number): string {
  let result = '';
  let rest = width;
  for (const character of text) {
    rest -= widthOfOne(character);
    if (rest < 0) break;
    result += character;
  }
  return result;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let value = count;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

export function counted(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** The part of a server's id that tells it from others well enough. */
export function shortId(serverId: string): string {
  return serverId.slice(0, 8);
}

export function bar(fraction: number, width: number): string {
  const full = Math.round(Math.min(Math.max(fraction, 0), 1) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

function fill(text: string, width: number): string {
  return text + ' '.repeat(Math.max(width - widthOf(text), 0));
}

function widthOfOne(character: string): number {
  if (WITHOUT_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
