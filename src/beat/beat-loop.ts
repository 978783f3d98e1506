import type { Clock, ClockTimer } from '../time/clock.js';
import type { BeatReport } from './beat.js';

/** A beat in the life of a server: what it did, and what came before it. */
export interface BeatHistory extends BeatReport {
  /** Beats that failed in a row, this one included; 0 when it is `ok`. */
  readonly failures: number;
  /** Ticks that fell into this beat or one since the last report, and were skipped. */
  readonly skippedTicks: number;
}

/**
 * When the next beat is due. One at a time: a tick that falls into a running beat is skipped, and counted. After a
 * failure the next attempt does not wait for the tick.
 */
export class BeatLoop {
  private static readonly FIRST_RETRY_MS = 200;
  private static readonly LONGEST_RETRY_MS = 2000;

  #running: Promise<BeatHistory> | undefined;
  #asked: Promise<BeatHistory> | undefined;
  #retry: ClockTimer | undefined;
  #failures = 0;
  #skippedTicks = 0;
  #stopped = false;

  /**
   * @param beat does one beat; never rejects.
   * @param early writes the state between two beats; never rejects.
   * @param report hears of each; never throws.
   * @param random 0 ≤ x < 1, for the jitter of retries.
   */
  constructor(
    private readonly beat: () => Promise<BeatReport>,
    private readonly early: () => Promise<BeatReport>,
    private readonly report: (history: BeatHistory) => void,
    private readonly clock: Clock,
    private readonly random: () => number,
  ) {}

  /** The interval has passed. */
  tick(): void {
    if (this.#stopped) return;
    if (this.#running) this.#skippedTicks += 1;
    else void this.#run();
  }

  /** A beat that begins after this call, and so tells all that is true now. Several calls share one. */
  now(): Promise<BeatHistory> {
    if (!this.#running) return this.#run();
    this.#asked ??= this.#running.then((history) => {
      this.#asked = undefined;
      if (this.#stopped) return history;
      // A tick or a listener may have been quicker.
      return this.#running ?? this.#run();
    });
    return this.#asked;
  }

  /** Resolves when no beat runs: at once if none does. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** The state alone, now, unless a beat runs that tells it anyway. What comes of it is told only if it fails. */
  write(): void {
    if (!this.#stopped && !this.#running) void this.#run(this.early);
  }

  /** Ends all beating; resolves when the beat that runs is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRetry();
    await this.#running;
  }

  #run(beat = this.beat): Promise<BeatHistory> {
    this.#cancelRetry();
    const running = beat().then((report) => {
      this.#running = undefined;
      if (!report.ok) this.#failures += 1;
      else if (beat === this.beat) this.#failures = 0;
      const history = { ...report, failures: this.#failures, skippedTicks: this.#skippedTicks };
      this.#skippedTicks = 0;
      if (this.#failures > 0 && !this.#stopped) this.#retrySoon();
      if (beat === this.beat || !report.ok) this.report(history);
      return history;
    });
    this.#running = running;
    return running;
  }

  /** Soon, so that one lost beat neither hides the server nor costs a lease; spread, so that a fleet does not come as one. */
  #retrySoon(): void {
    const longest = Math.min(BeatLoop.FIRST_RETRY_MS * 2 ** (this.#failures - 1), BeatLoop.LONGEST_RETRY_MS);
    this.#retry = this.clock.setTimeout(
      () => {
        this.#retry = undefined;
        if (!this.#running) void this.#run();
      },
      longest * (0.5 + this.random() / 2),
    );
  }

  #cancelRetry(): void {
    if (this.#retry) this.clock.clear(this.#retry);
    this.#retry = undefined;
  }
}
