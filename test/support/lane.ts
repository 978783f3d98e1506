import { setTimeout as sleep } from 'node:timers/promises';
import { moment } from './moments.js';

/** Something on its way through a {@link Lane}. */
export interface Parcel {
  readonly bytes: Buffer;
  /** The moment at which it came. */
  readonly cameAt: number;
}

/** Hands things on one after the other, in the order in which they came, each once it may pass. */
export class Lane<T extends Parcel> {
  readonly #waiting: T[] = [];
  #isMoving = false;
  #isClosed = false;

  /**
   * @param delay for how many milliseconds a parcel is kept, asked when it is the first in the line.
   * @param admit resolves when the first in the line may pass.
   */
  constructor(
    private readonly delay: () => number,
    private readonly admit: (parcel: T) => Promise<void> | void,
    private readonly deliver: (parcel: T) => void,
  ) {}

  push(parcel: T): void {
    this.#waiting.push(parcel);
    if (!this.#isMoving) void this.#move();
  }

  /** What is still under way is never delivered. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  async #move(): Promise<void> {
    this.#isMoving = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const left = next.cameAt + this.delay() - moment();
      if (left > 0) await sleep(left);
      await this.admit(next);
      // Closed while it waited.
      if (this.#isClosed) return;
      this.deliver(next);
    }
    this.#isMoving = false;
  }
}
