import { messageOf } from '../errors.js';
import { ServerClosedError } from '../broker/broker.errors.js';
import type { Broker } from '../broker/broker.js';
import { LeaseLostError } from '../lease/lease-lost.error.js';
import { Lease } from '../lease/lease.js';
import type { TaskJournal } from './task-journal.js';
import type { Clock } from '../time/clock.js';
import { boundedBy, Limit } from '../time/limit.js';
import { LeaseHeldError } from './lease-held.error.js';
import type { Run } from './run.js';
import type { TaskRegistry } from './task-registry.js';
import { checkTaskStart, InvalidTaskError, type Task } from './task.js';

export interface TrackOptions {
  /**
   * Run only if nobody holds this task's lease, here or on any other server, and hold it meanwhile. Whoever comes
   * second gets a {@link LeaseHeldError}. Default false.
   */
  readonly exclusive?: boolean | undefined;
  /** When the work must be done: a `Date` or epoch milliseconds. Past it the lease is gone, with reason `deadline`. */
  readonly deadline?: Date | number | undefined;
  /** The lease under which the task was claimed from its queue. Not together with `exclusive`. */
  readonly lease?: Lease | undefined;
}

/** What a tracked function is handed. */
export interface TaskContext {
  /** Aborted when the lease is lost; the same as `lease.signal`, made when it is first read. */
  readonly signal: AbortSignal;
  readonly lease: Lease;
}

const CLOSED = 'This server was shut down: a task started now would be seen, and its lease kept, by nobody';

/** Runs functions as tracked tasks. */
export class TaskTracker {
  #closed = false;

  constructor(
    private readonly registry: TaskRegistry,
    private readonly broker: Broker,
    private readonly clock: Clock,
    private readonly journal: TaskJournal,
    private readonly timing: { readonly leaseDuration: number; readonly beatTimeout: number },
    /** Resolves when no renewal is under way. */
    private readonly renewalsSettled: () => Promise<void>,
  ) {}

  /** No work is begun any more: a task started now would be seen, and its lease kept, by nobody. */
  close(): void {
    this.#closed = true;
  }

  async track<T>(task: Task, work: (context: TaskContext) => T, options: TrackOptions = {}): Promise<Awaited<T>> {
    if (this.#closed) throw new ServerClosedError(CLOSED);
    const { exclusive = false, deadline, lease } = options;
    const start = { task, deadline, lease };
    checkTaskStart(start);
    if (!exclusive) return this.#run(this.registry.start(start), work);
    if (lease) throw new InvalidTaskError('lease', lease, 'left out for an exclusive task, which makes its own');

    const run = await this.#acquire(task, deadline);
    return this.#run(run, work, () => this.#release(run));
  }

  async #run<T>(run: Run, work: (context: TaskContext) => T, finish?: () => Promise<void>): Promise<Awaited<T>> {
    const { lease, id, queue } = run;
    const context: TaskContext = {
      lease,
      get signal() {
        return lease.signal;
      },
    };
    let failure: { readonly cause: unknown } | undefined;
    let result: Awaited<T> | undefined;
    try {
      result = await work(context);
    } catch (cause) {
      failure = { cause };
    }
    const { reason } = lease;
    lease.end();
    await finish?.();
    this.registry.end(run);
    // What was done without the right to do it has not been done, whatever the function says of it.
    if (reason !== undefined) throw new LeaseLostError(reason, { id, queue }, failure);
    if (failure) throw failure.cause;
    return result as Awaited<T>;
  }

  async #acquire(task: Task, deadline: Date | number | undefined): Promise<Run> {
    const { clock } = this;
    const { leaseDuration, beatTimeout } = this.timing;
    const limit = new Limit(clock, beatTimeout);
    // A deadline counted from before the question is never later than the store's.
    const askedAt = clock.steady();
    try {
      const grant = await boundedBy(limit.signal, (signal) =>
        this.broker.acquire(task.queue.toWellFormed(), task.id.toWellFormed(), leaseDuration, { signal }),
      );
      if (!grant) throw new LeaseHeldError(task);
      const lease = new Lease(Infinity, clock);
      lease.extend(askedAt + Math.min(grant.expiresAt - grant.storeNow, leaseDuration));
      const run = this.registry.start({ task, deadline, lease }, 'remove');
      run.expiresAt = grant.expiresAt;
      if (!this.#closed) return run;
      this.registry.end(run);
      await this.#release(run);
      throw new ServerClosedError(CLOSED);
    } finally {
      limit.clear();
    }
  }

  /** A renewal that is under way would move the lease's score after we had named it: it is waited for. */
  async #release(run: Run): Promise<void> {
    // A server that shut down has given it back already, and has no store any more.
    if (run.lease.reason === 'shutdown') return;
    await this.renewalsSettled();
    const limit = new Limit(this.clock, this.timing.beatTimeout);
    try {
      await boundedBy(limit.signal, (signal) =>
        this.broker.release(run.queue, run.id, run.oursUntil ?? 0, 'remove', { signal }),
      );
    } catch (error) {
      this.journal.enter(`could not give back the lease, which runs out by itself (${messageOf(error)})`, run.id);
    } finally {
      limit.clear();
    }
  }
}
