import type { ReleaseMode } from '../broker/broker.js';
import { steadyTimeOf, type Clock } from '../time/clock.js';
import { DeadlineWatch } from '../lease/deadline-watch.js';
import { Lease } from '../lease/lease.js';
import { Run, type RunObserver } from './run.js';
import type { TaskFinish, TaskStart } from './task.js';

/** Whoever wants to know what becomes of tasks. */
export interface RegistryObserver extends RunObserver {
  started?(): void;
}

/**
 * The one truth about what is active on this server. Everything here happens at once, in memory: whoever reports a
 * start or a finish never waits for a store.
 */
export class TaskRegistry {
  /** Per queue and task id, the newest run; older runs of the same task hang behind it. */
  readonly #queues = new Map<string, Map<string, Run>>();
  #size = 0;
  #started = 0;
  #idle: (() => void)[] = [];
  readonly #watch: DeadlineWatch;

  constructor(
    private readonly clock: Clock,
    private readonly observer: RegistryObserver,
  ) {
    this.#watch = new DeadlineWatch(clock, () => this.#leases());
  }

  /** Number of active runs. */
  get size(): number {
    return this.#size;
  }

  /** The ordinal of the run that has started last. */
  get started(): number {
    return this.#started;
  }

  /** Whether a run is active whose ordinal is greater than `after` and not greater than `upTo`. */
  activeBetween(after: number, upTo: number): boolean {
    if (after >= upTo) return false;
    for (const run of this.runs()) if (run.ordinal > after && run.ordinal <= upTo) return true;
    return false;
  }

  /** Number of active runs whose work goes on although they have lost their lease. */
  overdueAt(steadyMs: number): number {
    let count = 0;
    for (const run of this.runs()) if (!run.lease.isValidAt(steadyMs)) count += 1;
    return count;
  }

  /**
   * A worker has taken up a task. A start told twice, with the same lease, is one run.
   *
   * @param mode how the lease is to be given back; by default as that of a task that was claimed from a queue.
   */
  start({ task, startedAt, deadline, lease }: TaskStart, mode: ReleaseMode = 'expire'): Run {
    const id = task.id.toWellFormed();
    const queue = task.queue.toWellFormed();
    const runs = this.#runsOf(queue);
    const newest = runs.get(id);
    const known = lease && find(newest, lease);
    if (known) return known;

    const run = new Run(
      {
        id,
        queue,
        type: task.type.toWellFormed(),
        payload: task.payload,
        ordinal: ++this.#started,
        startedAt: startedAt === undefined ? this.clock.now() : Number(startedAt),
        deadline: deadline === undefined ? undefined : Number(deadline),
        lease: lease ?? new Lease(Infinity, this.clock),
        leased: lease && mode,
      },
      this.observer,
    );
    run.lease.bind(run, run.deadline === undefined ? Infinity : steadyTimeOf(this.clock, run.deadline));
    run.older = newest;
    runs.set(id, run);
    this.#size += 1;
    // The store holds one lease a task: that it was claimed anew means that the older run has lost its own.
    if (lease) for (let older = newest; older; older = older.older) if (older.leased) older.lease.revoke('lost');
    this.#watch.consider(run.lease);
    this.observer.started?.();
    return run;
  }

  /**
   * A worker has finished a task: the run under that lease, or without one the oldest run of the task. A finish without
   * a start is no error.
   */
  finish({ task, lease }: TaskFinish): Run | undefined {
    const newest = this.#queues.get(task.queue.toWellFormed())?.get(task.id.toWellFormed());
    const run = lease ? find(newest, lease) : oldest(newest);
    if (run) this.end(run);
    return run;
  }

  /** Ends this very run; ending it twice is harmless. */
  end(run: Run): void {
    if (!run.active) return;
    run.active = false;
    run.lease.end();
    this.#remove(run);
    this.#size -= 1;
    if (this.#size === 0) {
      this.#watch.stop();
      for (const tell of this.#idle.splice(0)) tell();
    }
  }

  /** All active runs. */
  *runs(): Generator<Run> {
    for (const runs of this.#queues.values()) {
      for (const newest of runs.values()) for (let run: Run | undefined = newest; run; run = run.older) yield run;
    }
  }

  /** The active runs of a task, whatever its queue. */
  runsWithId(id: string): Run[] {
    return [...this.runs()].filter((run) => run.id === id);
  }

  /** Resolves when no run is active: at once if none is. */
  whenIdle(): Promise<void> {
    if (this.#size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Stops watching deadlines; nothing is told any more. */
  close(): void {
    this.#watch.stop();
  }

  #runsOf(queue: string): Map<string, Run> {
    let runs = this.#queues.get(queue);
    if (!runs) this.#queues.set(queue, (runs = new Map<string, Run>()));
    return runs;
  }

  #remove(run: Run): void {
    const runs = this.#queues.get(run.queue);
    const newest = runs?.get(run.id);
    if (!runs || !newest) return;
    if (newest === run) {
      if (run.older) runs.set(run.id, run.older);
      else runs.delete(run.id);
      if (runs.size === 0) this.#queues.delete(run.queue);
      return;
    }
    for (let newer: Run = newest; newer.older; newer = newer.older) {
      if (newer.older !== run) continue;
      newer.older = run.older;
      return;
    }
  }

  *#leases(): Generator<Lease> {
    for (const run of this.runs()) yield run.lease;
  }
}

function find(newest: Run | undefined, lease: Lease): Run | undefined {
  for (let run = newest; run; run = run.older) if (run.lease === lease) return run;
  return undefined;
}

function oldest(newest: Run | undefined): Run | undefined {
  let run = newest;
  while (run?.older) run = run.older;
  return run;
}
