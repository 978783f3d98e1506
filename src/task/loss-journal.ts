import type { LeaseLossReason } from '../lease/lease-lost.error.js';
import type { Log } from '../log.js';
import type { Clock, ClockTimer } from '../time/clock.js';
import { listOf } from '../list-of.js';
import type { Run } from './run.js';

/** Tells the operator of lost leases: a line a second for each reason, however many were lost. */
export class LossJournal {
  private static readonly GATHER_MS = 1000;

  readonly #lost = new Map<LeaseLossReason, string[]>();
  #timer: ClockTimer | undefined;

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
  ) {}

  enter(run: Run, reason: LeaseLossReason): void {
    const ids = this.#lost.get(reason);
    if (ids) ids.push(run.id);
    else this.#lost.set(reason, [run.id]);
    this.#timer ??= this.clock.setTimeout(() => {
      this.flush();
    }, LossJournal.GATHER_MS);
  }

  /** Tells what has been gathered. */
  flush(): void {
    if (this.#timer) this.clock.clear(this.#timer);
    this.#timer = undefined;
    for (const [reason, ids] of this.#lost) {
      this.log.warn(`${String(ids.length)} running task(s) lost their lease (${reason}): ${listOf(ids)}`);
    }
    this.#lost.clear();
  }
}
