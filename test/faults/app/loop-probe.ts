import { moment } from '../../support/moments.js';

/** Looks, every few milliseconds, whether the event loop is free. */
export class LoopProbe {
  private static readonly EVERY_MS = 10;
  /** A busy machine lets a process wait for this long: what follows from it is the machine's fault, not ours. */
  private static readonly STALL_MS = 30;

  #last = moment();

  /**
   * @param onTurn hears of each free turn.
   * @param onStall hears of the end of a time without one, and of the last turn before it.
   */
  constructor(
    private readonly onTurn: (now: number) => void,
    private readonly onStall: (from: number) => void,
  ) {
    setInterval(() => {
      this.#turn();
    }, LoopProbe.EVERY_MS).unref();
  }

  #turn(): void {
    const now = moment();
    if (now - this.#last > LoopProbe.STALL_MS) this.onStall(this.#last);
    this.#last = now;
    this.onTurn(now);
  }
}
