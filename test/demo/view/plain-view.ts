import type { Feed, Happening } from '../feed.js';
import { lineOf } from './happening-line.js';
import { render } from './span.js';
import { right, seconds } from './text.js';
import type { View } from './view.js';

/** Beats of one server from line to line: each would be too many. */
const EVERY_BEAT = 5;

/** A line for each thing that happens, for logs and pipes. */
export class PlainView implements View {
  readonly #begun = performance.now();
  readonly #heldTold = new Set<string>();

  constructor(
    feed: Feed,
    private readonly write: (text: string) => void,
  ) {
    feed.listen((happening) => {
      if (this.#isTold(happening))
        this.#print(render(lineOf(happening, { styleOf: () => undefined, digits: 64 }), Infinity, false));
    });
  }

  start(): void {
    // Nothing is drawn between two happenings.
  }

  stop(): void {
    // Nor is anything to be put right.
  }

  #isTold(happening: Happening): boolean {
    if (happening.kind === 'beat') return happening.beat % EVERY_BEAT === 1;
    if (happening.kind !== 'held') return true;
    // One shows how it looks; the others are counted.
    if (this.#heldTold.has(happening.server)) return false;
    this.#heldTold.add(happening.server);
    return true;
  }

  #print(line: string): void {
    this.write(`${right(seconds(performance.now() - this.#begun), 7)}  ${line}\n`);
  }
}
