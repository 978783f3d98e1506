import type { Broker } from '../broker/broker.js';
import type { ServerInfo } from '../format/records.js';
import type { Log } from '../log.js';
import type { Run } from '../task/run.js';
import type { TaskRegistry } from '../task/task-registry.js';
import type { Clock } from '../time/clock.js';
import { abortable, boundedBy, Limit } from '../time/limit.js';
import { listOf } from '../list-of.js';

/** How long things may take, and count; all in milliseconds. */
export interface BeatTiming {
  readonly ttl: number;
  readonly leaseDuration: number;
  readonly beatTimeout: number;
}

/** What one beat did. */
export interface BeatReport {
  /** Whether all of it was done: the state written and every queue's leases renewed. */
  readonly ok: boolean;
  readonly startedAt: Date;
  /** Milliseconds from the first question to the last answer. */
  readonly duration: number;
  /** Tasks that were active when the beat began. */
  readonly activeTasks: number;
  /** Of these, tasks whose work goes on although their lease is gone. */
  readonly overdueTasks: number;
  /** Leases that the store has renewed. */
  readonly renewed: number;
  /** Leases that the store no longer held. */
  readonly gone: number;
  /** How far the store's clock is ahead of this machine's, in milliseconds; undefined when the store did not answer. */
  readonly clockDifference: number | undefined;
  /** What failed, one error for the state and one for each queue; empty when `ok`. */
  readonly errors: readonly Error[];
}

interface Outcome {
  renewed: number;
  gone: number;
  clockDifference: number | undefined;
  errors: Error[];
}

/** One beat: renew the leases that are still valid, then write who we are and what we do. */
export class Beat {
  #storeOffset: number | undefined;
  #writtenUpTo = 0;

  constructor(
    private readonly broker: Broker,
    private readonly registry: TaskRegistry,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly timing: BeatTiming,
    private readonly describe: () => ServerInfo,
  ) {}

  /**
   * What is to be added to steady time for the store's time, in milliseconds, and never too little; undefined until a
   * beat has succeeded. Unlike the difference between the wall clocks, it does not change when one of ours is stepped.
   */
  get storeOffset(): number | undefined {
    return this.#storeOffset;
  }

  /** The ordinal up to which the store has heard of runs. */
  get writtenUpTo(): number {
    return this.#writtenUpTo;
  }

  /** A whole beat. Never rejects, and is over when the beat's time is. */
  run(): Promise<BeatReport> {
    return this.#within(async (limit, outcome) => {
      // Renewals are sent before the state, and a large state cannot delay them. One that hangs, on one node of many,
      // does not keep the state back for good: it gets the second half of the time.
      const leases = this.#leasesByQueue(this.clock.steady());
      const renewals = Promise.all(leases.map(([queue, runs]) => this.#renew(queue, runs, limit, outcome)));
      const headStart = new Limit(this.clock, this.timing.beatTimeout / 2);
      await abortable(renewals, headStart.signal).catch(() => undefined);
      headStart.clear();
      await this.#writeState(limit, outcome);
      await renewals;
    });
  }

  /** The state alone, between two beats. Never rejects, and is over when a beat's time is. */
  write(): Promise<BeatReport> {
    return this.#within((limit, outcome) => this.#writeState(limit, outcome));
  }

  async #within(work: (limit: Limit, outcome: Outcome) => Promise<void>): Promise<BeatReport> {
    const { clock, timing } = this;
    const startedAt = new Date(clock.now());
    const begun = clock.steady();
    const activeTasks = this.registry.size;
    const limit = new Limit(clock, timing.beatTimeout);
    const overdueTasks = this.registry.overdueAt(begun);
    const outcome: Outcome = { renewed: 0, gone: 0, clockDifference: undefined, errors: [] };
    await work(limit, outcome);
    limit.clear();
    return {
      ...outcome,
      ok: outcome.errors.length === 0,
      startedAt,
      duration: clock.steady() - begun,
      activeTasks,
      overdueTasks,
    };
  }

  /** The runs whose lease is to be renewed. Whoever's time is over learns it now, if no timer has told it yet. */
  #leasesByQueue(now: number): [queue: string, runs: Run[]][] {
    const queues = new Map<string, Run[]>();
    for (const run of [...this.registry.runs()]) {
      if (!run.lease.isValidAt(now)) {
        run.lease.notifyExpirationAt(now);
        continue;
      }
      if (!run.leased || this.#promisedForLonger(run, now)) continue;
      const runs = queues.get(run.queue);
      if (runs) runs.push(run);
      else queues.set(run.queue, [run]);
    }
    return [...queues];
  }

  /** A task may have been claimed for longer than we renew for: to renew would be to shorten. */
  #promisedForLonger(run: Run, now: number): boolean {
    return run.expiresAt === undefined && run.lease.expiresAtSteady - now > this.timing.leaseDuration;
  }

  async #renew(queue: string, runs: readonly Run[], { signal }: Limit, outcome: Outcome): Promise<void> {
    const { clock, timing } = this;
    // A deadline counted from before the question is never later than the store's.
    const askedAt = clock.steady();
    const asked = clock.now();
    const ids = runs.map(({ id }) => id);
    try {
      const { expiresAt, storeNow, gone } = await boundedBy(signal, () =>
        this.broker.renew(queue, ids, timing.leaseDuration, { signal }),
      );
      outcome.clockDifference = clockDifference(asked, storeNow, clock.now());
      const missing = new Set(gone);
      const until = askedAt + Math.min(expiresAt - storeNow, timing.leaseDuration);
      const refused: string[] = [];
      for (const run of runs) {
        if (missing.has(run.id)) {
          // A task that has finished meanwhile is gone because it is done.
          if (run.active && run.lease.revoke('lost')) outcome.gone += 1;
          continue;
        }
        outcome.renewed += 1;
        run.expiresAt = expiresAt;
        run.mayExpireAt = undefined;
        if (run.active && !run.lease.extend(until) && run.lease.notifyExpiration()) refused.push(run.id);
      }
      if (refused.length > 0) {
        this.log.warn(
          `Leases of queue ${JSON.stringify(queue)} ran out while they were being renewed, and are not believed: ` +
            listOf(refused),
        );
      }
    } catch (error) {
      outcome.errors.push(error as Error);
      const latest = clock.steady() + (this.#storeOffset ?? Infinity) + timing.leaseDuration;
      for (const run of runs) run.mayExpireAt = latest;
    }
  }

  async #writeState({ signal }: Limit, outcome: Outcome): Promise<void> {
    const asked = this.clock.now();
    const askedAt = this.clock.steady();
    const upTo = this.registry.started;
    const state = { server: this.describe(), workers: [...this.registry.runs()], ttl: this.timing.ttl };
    try {
      const { storeNow } = await boundedBy(signal, () => this.broker.writeState(state, { signal }));
      outcome.clockDifference = clockDifference(asked, storeNow, this.clock.now());
      this.#storeOffset = storeNow - askedAt;
      this.#writtenUpTo = upTo;
    } catch (error) {
      outcome.errors.push(error as Error);
    }
  }
}

/** How far the store's clock is ahead for certain, given that it was read at some moment between the two of ours. */
function clockDifference(asked: number, storeNow: number, answered: number): number {
  if (storeNow < asked) return storeNow - asked;
  return Math.max(storeNow - answered, 0);
}
