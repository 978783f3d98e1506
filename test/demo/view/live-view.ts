import type { WriteStream } from 'node:tty';
import type { Feed, Happening } from '../feed.js';
import { frame } from './frame.js';
import { lineOf } from './happening-line.js';
import { serverStyle } from './server-style.js';
import type { Snapshot } from './snapshot.js';
import { render, type Line } from './span.js';
import type { View } from './view.js';

const REDRAW_MS = 250;
const LOG_LENGTH = 12;
/** Of a checksum: all 64 would leave no room for the file's name. */
const DIGITS = 12;
const ESC = '\u001b[';
const HOME = `${ESC}H`;
const ERASE_SCREEN = `${ESC}2J`;
const ERASE_BELOW = `${ESC}J`;
const ERASE_REST_OF_LINE = `${ESC}K`;
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;
/** A line that is too wide is cut instead of pushing all others down. */
const WRAP_OFF = `${ESC}?7l`;
const WRAP_ON = `${ESC}?7h`;

/** A table that is drawn over itself. */
export class LiveView implements View {
  readonly #log: Line[] = [];
  readonly #styleOf = serverStyle();
  #look: (() => Snapshot) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    feed: Feed,
    private readonly terminal: WriteStream,
    private readonly inColor: boolean,
  ) {
    feed.listen((happening) => {
      if (!isForLog(happening)) return;
      this.#log.push(lineOf(happening, { styleOf: this.#styleOf, digits: DIGITS }));
      if (this.#log.length > LOG_LENGTH) this.#log.shift();
    });
  }

  start(look: () => Snapshot): void {
    this.#look = look;
    // What stands on the screen is pushed up, not overwritten.
    this.terminal.write(HIDE_CURSOR + WRAP_OFF + '\n'.repeat(this.terminal.rows) + HOME);
    this.terminal.on('resize', this.#onResize);
    process.on('exit', this.#restore);
    this.#timer = setInterval(() => {
      this.#draw();
    }, REDRAW_MS);
    this.#draw();
  }

  stop(): void {
    if (!this.#look) return;
    this.#draw();
    clearInterval(this.#timer);
    this.#look = undefined;
    this.terminal.off('resize', this.#onResize);
    process.off('exit', this.#restore);
    this.#restore();
  }

  readonly #restore = (): void => {
    this.terminal.write(WRAP_ON + SHOW_CURSOR);
  };

  readonly #onResize = (): void => {
    this.terminal.write(ERASE_SCREEN);
    this.#draw();
  };

  #draw(): void {
    if (!this.#look) return;
    // The last column stays free, since erasing the rest of a full line would take its last character; and the last
    // row, so that nothing ever scrolls.
    const columns = (this.terminal.columns || 80) - 1;
    const rows = (this.terminal.rows || 24) - 1;
    const lines = frame(this.#look(), this.#log, { columns, rows, styleOf: this.#styleOf });
    const text = lines.map((line) => render(line, columns, this.inColor) + ERASE_REST_OF_LINE);
    this.terminal.write(`${HOME}${text.join('\n')}\n${ERASE_BELOW}`);
  }
}

/** What the table itself shows needs no line. */
function isForLog({ kind }: Happening): boolean {
  return !['beat', 'taken', 'log', 'result'].includes(kind);
}
