import type { Clock, ClockTimer } from '../time/clock.js';

/** What has to be known of the active runs: each has an ordinal, counted up from 1. */
export interface Starts {
  readonly registry: {
    /** The ordinal of the run that has started last. */
    readonly started: number;
    /** Whether a run is active whose ordinal is greater than `after` and not greater than `upTo`. */
    activeBetween(after: number, upTo: number): boolean;
  };
  /** Up to which ordinal the store has heard of runs. */
  readonly beat: { readonly writtenUpTo: number };
}

/**
 * Makes a task visible soon after its start, without a write for each: one that has run for half a second is written
 * before its first second is over, together with all others. Tasks that are quicker cost nothing.
 */
export class EarlyWrite {
  /** Whoever is seen at two looks has run for between one and two of these. */
  private static readonly LOOK_MS = 250;
  /** Not quite a second, so that who starts right after a write is still seen within one. */
  private static readonly LEAST_BETWEEN_MS = 900;

  #timer: ClockTimer | undefined;
  #seenAtLastLook = 0;
  #lastWrite = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly starts: Starts,
    private readonly write: () => void,
  ) {}

  /** A run has started. */
  started(): void {
    if (this.#timer) return;
    this.#seenAtLastLook = this.starts.beat.writtenUpTo;
    this.#sleep();
  }

  stop(): void {
    if (this.#timer) this.clock.clear(this.#timer);
    this.#timer = undefined;
  }

  #sleep(): void {
    this.#timer = this.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, EarlyWrite.LOOK_MS);
  }

  #look(): void {
    const { clock } = this;
    const { registry, beat } = this.starts;
    if (!registry.activeBetween(beat.writtenUpTo, registry.started)) return;
    const ripe = registry.activeBetween(beat.writtenUpTo, this.#seenAtLastLook);
    if (ripe && clock.steady() - this.#lastWrite >= EarlyWrite.LEAST_BETWEEN_MS) {
      this.#lastWrite = clock.steady();
      this.write();
    }
    this.#seenAtLastLook = registry.started;
    this.#sleep();
  }
}
