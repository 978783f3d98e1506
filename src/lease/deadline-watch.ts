import type { Clock, ClockTimer } from '../time/clock.js';
import type { Lease } from './lease.js';

/**
 * Tells holders that the time of their lease is over: one timer, however many leases there are.
 *
 * The timer sleeps until the earliest deadline it knows. Renewals only move deadlines away, so it needs to hear of new
 * leases alone; when it wakes too early it looks again and sleeps on.
 */
export class DeadlineWatch {
  /** Deadlines this close together are served by one pass over the leases, so that many short tasks stay cheap. */
  private static readonly GRAIN_MS = 20;
  /** A timer does not count the time that a machine is suspended: the clock is looked at no less often than this. */
  private static readonly LONGEST_SLEEP_MS = 100;

  #timer: ClockTimer | undefined;
  #next = Infinity;

  /** @param leases all leases that are to be watched, asked for anew at each pass. */
  constructor(
    private readonly clock: Clock,
    private readonly leases: () => Iterable<Lease>,
  ) {}

  /** Takes a new lease, or a deadline that has come closer, into account. */
  consider(lease: Lease): void {
    const until = lease.expiresAtSteady;
    if (until >= this.#next) return;
    this.#next = until;
    this.#arm();
  }

  stop(): void {
    if (this.#timer) this.clock.clear(this.#timer);
    this.#timer = undefined;
    this.#next = Infinity;
  }

  #arm(): void {
    if (this.#timer) this.clock.clear(this.#timer);
    this.#timer = undefined;
    if (this.#next === Infinity) return;
    // A lease is valid at its deadline: the first moment at which it is not comes after it.
    const wait = Math.max(this.#next - this.clock.steady() + 1, 1);
    this.#timer = this.clock.setTimeout(
      () => {
        this.#wake();
      },
      Math.min(wait, DeadlineWatch.LONGEST_SLEEP_MS),
    );
  }

  #wake(): void {
    const now = this.clock.steady();
    if (now > this.#next) this.#pass(now);
    this.#arm();
  }

  #pass(now: number): void {
    // Whoever is told may start new work at once: what `consider` hears of meanwhile is kept.
    this.#next = Infinity;
    let earliest = Infinity;
    for (const lease of this.leases()) {
      if (lease.notifyExpirationAt(now) || !lease.isValidAt(now)) continue;
      earliest = Math.min(earliest, lease.expiresAtSteady);
    }
    // max() leaves Infinity alone: with nothing to wait for, the timer sleeps.
    this.#next = Math.min(this.#next, Math.max(earliest, now + DeadlineWatch.GRAIN_MS));
  }
}
