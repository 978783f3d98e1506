import { messageOf } from '../errors.js';
import type { Log } from '../log.js';
import type { Clock } from '../time/clock.js';
import type { BeatHistory } from './beat-loop.js';

/** Tells the operator of trouble once, and once when it is over, however long it took. */
export class BeatJournal {
  #failingSince: number | undefined;
  #failures = 0;
  #clockWarned = false;

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
  ) {}

  /** Milliseconds that an outage lasted which this beat has ended; undefined when there was none. */
  enter(history: BeatHistory): number | undefined {
    this.#enterClocks(history.clockDifference);
    if (history.ok) return this.#enterGood();
    this.#enterFailed(history);
    return undefined;
  }

  #enterFailed({ errors, failures }: BeatHistory): void {
    this.#failures = failures;
    // Counted only: Nest prints lines of every level unless told otherwise.
    if (this.#failingSince !== undefined) return;
    this.#failingSince = this.clock.steady();
    const what = [...new Set(errors.map(messageOf))].slice(0, 3).join('; ').replace(/\.$/, '');
    this.log.warn(
      `Beat failed: ${what}. It is tried again until it succeeds; running tasks keep their leases until these run out.`,
    );
  }

  #enterGood(): number | undefined {
    if (this.#failingSince === undefined) return undefined;
    const lasted = this.clock.steady() - this.#failingSince;
    this.log.log(`Beating again after ${String(this.#failures)} failed beats in ${(lasted / 1000).toFixed(1)} s.`);
    this.#failingSince = undefined;
    this.#failures = 0;
    return lasted;
  }

  #enterClocks(difference: number | undefined): void {
    if (difference === undefined) return;
    const apart = Math.abs(difference) > 1000;
    if (apart && !this.#clockWarned) {
      const words = difference > 0 ? 'behind' : 'ahead of';
      this.log.warn(
        `This machine's clock is ${(Math.abs(difference) / 1000).toFixed(1)} s ${words} the store's. Leases are kept by the ` +
          "store's clock and are safe; times shown to people are not: check this machine's time service.",
      );
    }
    this.#clockWarned = apart;
  }
}
