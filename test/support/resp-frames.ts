/** Types of RESP that say how much follows: as text, or as a number of further values. */
const TEXTS = '$=!';
const LISTS = '*~>';
const MAPS = '%|';

const CR = 0x0d;
const LF = 0x0a;

/** Cuts a stream of Redis' protocol, RESP2 or RESP3, into whole values: commands one way, replies the other. */
export class RespFrames {
  #rest: Buffer = Buffer.alloc(0);

  /** The values that are whole now. */
  push(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    for (let end = endOf(this.#rest, 0); end !== undefined; end = endOf(this.#rest, 0)) {
      frames.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }
}

/** The words of a command: an array of bulk strings. */
export function wordsOf(command: Buffer): string[] {
  const words: string[] = [];
  for (let at = lineEnd(command, 0) ?? command.length; at < command.length;) {
    const start = lineEnd(command, at) ?? command.length;
    const length = Number(command.toString('latin1', at + 1, start - 2));
    words.push(command.toString('utf8', start, start + length));
    at = start + length + 2;
  }
  return words;
}

/** Where the value that begins at `start` ends; undefined while it is not whole. */
function endOf(bytes: Buffer, start: number): number | undefined {
  const line = lineEnd(bytes, start);
  if (line === undefined) return undefined;
  const type = String.fromCharCode(bytes[start] ?? 0);
  const count = Number(bytes.toString('latin1', start + 1, line - 2));
  if (TEXTS.includes(type)) {
    const end = count < 0 ? line : line + count + 2;
    return end <= bytes.length ? end : undefined;
  }
  let end: number | undefined = line;
  for (let left = valuesIn(type, count); left > 0 && end !== undefined; left -= 1) end = endOf(bytes, end);
  return end;
}

function valuesIn(type: string, count: number): number {
  if (LISTS.includes(type)) return count;
  return MAPS.includes(type) ? 2 * count : 0;
}

/** Just behind the line break of the line that begins at `start`. */
function lineEnd(bytes: Buffer, start: number): number | undefined {
  for (let at = bytes.indexOf(LF, start); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] === CR) return at + 1;
  }
  return undefined;
}
