import { steadyTimeOf, systemClock, type Clock } from '../time/clock.js';
import { LeaseLostError, type LeaseLossReason, type LeaseSubject } from './lease-lost.error.js';

/** Whoever works under a lease: named in errors, and told when the lease is gone. */
export interface LeaseHolder extends LeaseSubject {
  leaseLost(reason: LeaseLossReason): void;
}

/**
 * The right to work on a task until a deadline.
 *
 * A lease is valid up to and including its deadline, as asynq's is. Once it is gone, by time or by word, it stays gone.
 * Validity is a comparison of clocks made at the moment you ask: it is right even when a blocked event loop has kept
 * every timer and signal waiting.
 */
export class Lease {
  readonly #clock: Clock;
  /** Steady time until which the store has promised the lease. */
  #expiry: number;
  /** Steady time of the task's own deadline, past which no renewal counts. */
  #limit = Infinity;
  #reason: LeaseLossReason | undefined;
  #ended = false;
  #holder: LeaseHolder | undefined;
  #controller: AbortController | undefined;

  /**
   * @param deadline until when the lease was granted: a `Date` or epoch milliseconds, in this machine's wall-clock time;
   *   `Infinity` for a lease without an end.
   * @param clock the clock it is judged by; the system's when left out.
   */
  constructor(deadline: Date | number, clock: Clock = systemClock) {
    this.#clock = clock;
    const wall = Number(deadline);
    this.#expiry = wall === Infinity ? Infinity : steadyTimeOf(clock, wall);
  }

  /** Whether the work may go on: true up to and including the deadline, and never true again once it was false. */
  get isValid(): boolean {
    return this.isValidAt(this.#clock.steady());
  }

  /** The moment after which the lease is no longer valid; undefined when it has no end. */
  get deadline(): Date | undefined {
    const until = this.expiresAtSteady;
    if (until === Infinity) return undefined;
    return new Date(Math.round(this.#clock.now() + (until - this.#clock.steady())));
  }

  /** Why the lease is gone, told by the clock if nobody has said it yet; undefined while it is valid, or ended in peace. */
  get reason(): LeaseLossReason | undefined {
    if (this.#reason !== undefined || this.#ended) return this.#reason;
    return this.isValid ? undefined : this.#naturalReason;
  }

  /** Aborted, with a {@link LeaseLostError}, when the lease is lost. Made when it is first read. */
  get signal(): AbortSignal {
    this.notifyExpiration();
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#error(this.#reason));
    }
    return this.#controller.signal;
  }

  /** Moves the deadline. Refused, with false, when the lease is no longer valid. */
  reset(deadline: Date | number): boolean {
    return this.extend(steadyTimeOf(this.#clock, Number(deadline)));
  }

  /** Tells the holder that time is over. Refused, with false, while the lease is valid and when the holder knows already. */
  notifyExpiration(): boolean {
    return this.notifyExpirationAt(this.#clock.steady());
  }

  /** Takes the lease away. Refused, with false, when it was lost, or its work has finished, before. */
  revoke(reason: LeaseLossReason): boolean {
    if (this.#reason !== undefined || this.#ended) return false;
    this.#lose(reason);
    return true;
  }

  /** @throws {LeaseLostError} when the lease is not valid now. Call it before what must not be done twice. */
  assertHeld(): void {
    if (!this.isValid) throw this.#error(this.reason ?? 'lost');
  }

  /** @internal The moment after which the lease is no longer valid, in steady milliseconds; Infinity when it has no end. */
  get expiresAtSteady(): number {
    return Math.min(this.#expiry, this.#limit);
  }

  /** @internal {@link isValid} for one reading of the clock, so that a pass over many leases reads it once. */
  isValidAt(steadyMs: number): boolean {
    return this.#reason === undefined && !this.#ended && steadyMs <= this.expiresAtSteady;
  }

  /** @internal {@link notifyExpiration} for one reading of the clock. */
  notifyExpirationAt(steadyMs: number): boolean {
    if (this.#reason !== undefined || this.#ended || this.isValidAt(steadyMs)) return false;
    this.#lose(this.#naturalReason);
    return true;
  }

  /** @internal {@link reset} in steady time. */
  extend(steadyMs: number): boolean {
    if (!this.isValid) return false;
    this.#expiry = steadyMs;
    return true;
  }

  /** @internal Binds the lease to the run that works under it; `limit` is the task's own deadline in steady time. */
  bind(holder: LeaseHolder, limit: number): void {
    this.#holder = holder;
    this.#limit = limit;
  }

  /** @internal The work has finished: the lease is no longer valid, and nobody needs to be told. */
  end(): void {
    this.#ended = true;
  }

  get #naturalReason(): LeaseLossReason {
    return this.#limit <= this.#expiry ? 'deadline' : 'expired';
  }

  #lose(reason: LeaseLossReason): void {
    this.#reason = reason;
    this.#controller?.abort(this.#error(reason));
    this.#holder?.leaseLost(reason);
  }

  #error(reason: LeaseLossReason): LeaseLostError {
    return new LeaseLostError(reason, this.#holder);
  }
}
