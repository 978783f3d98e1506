import { setTimeout as sleep } from 'node:timers/promises';
import { moment, momentOf } from '../../support/moments.js';
import { until } from '../../support/wait.js';
import { AppProcess } from './app-process.js';
import type { ServerKeys, TaskName } from './judge.js';
import type { Store } from './store.js';
import { TIMING } from './timing.js';

/**
 * What is to become of a task in a fault: nothing, the end of its lease's time, somebody takes the lease away, or the app
 * dies with it.
 */
export type Fate = 'kept' | 'runs out' | 'taken' | 'abandoned';

export interface RigTask extends TaskName {
  fate: Fate;
  /** The moment from which on the store did not hold the lease for this app. */
  goneAt: number | undefined;
}

/** What an app is set up with beside its store. */
export interface RigSetup {
  /** Hand over a client of the app's own. */
  readonly ownClient?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

const QUEUES = ['emails', 'reports', 'größe'];
const TASKS_PER_QUEUE = 3;

/** A store, an app that beats into it, and the tasks that the app works on. */
export class Rig<S extends Store = Store> {
  readonly tasks: RigTask[] = [];

  private constructor(
    readonly store: S,
    readonly app: AppProcess,
    private readonly keys: ServerKeys,
  ) {}

  static async start<S extends Store>(store: S, { ownClient = false, env }: RigSetup = {}): Promise<Rig<S>> {
    const queues = Object.fromEntries(QUEUES.map((queue) => [queue, 1]));
    const heartbeat = { ...TIMING, queues, connection: store.connection };
    const app = await AppProcess.start({ heartbeat, ownClient }, env);
    return new Rig(store, app, await app.first('up'));
  }

  /** Has the app work on tasks of several queues, and waits until it keeps their leases and lists them. */
  async startTasks(): Promise<void> {
    const startedAt = moment();
    for (const queue of QUEUES) {
      for (let index = 0; index < TASKS_PER_QUEUE; index += 1) await this.startTask(`${queue}-${String(index)}`, queue);
    }
    await this.beatsSince(moment());
    if (this.app.told('ended', startedAt).length > 0) throw new Error('a task ended before anything was broken');
  }

  async startTask(id: string, queue: string): Promise<void> {
    const leaseUntil = await this.store.judge.claim({ id, queue }, TIMING.leaseDuration);
    this.tasks.push({ id, queue, fate: 'kept', goneAt: undefined });
    this.app.send({ do: 'start', id, queue, leaseUntil });
  }

  /**
   * Waits for a beat after a moment that has done all it should: server, workers and index entries are there, and the
   * leases that are to be kept are renewed. When that was seen.
   */
  async beatsSince(since: number): Promise<number> {
    const { judge, timeShift } = this.store;
    const wall = Date.now() + (since - moment()) + timeShift;
    const kept = this.tasks.filter(({ fate }) => fate === 'kept');
    return judge.until('it beats', async () => {
      const writtenAt = await judge.writtenAt(this.keys.serverKey, TIMING.ttl);
      if (writtenAt === undefined || writtenAt < since) return undefined;
      if (!(await judge.isListed(this.keys, wall, kept.length))) return undefined;
      // Scores are whole seconds, rounded down.
      const renewedTo = wall + TIMING.leaseDuration - 1000;
      const leases = await Promise.all(kept.map((task) => judge.leaseOf(task)));
      return leases.every((until) => until !== undefined && until > renewedTo) ? moment() : undefined;
    });
  }

  /** Says of tasks, of all when none are named, that their time will be over. */
  letRunOut(tasks: readonly RigTask[] = this.tasks): void {
    for (const task of tasks) task.fate = 'runs out';
  }

  /** Says of tasks, of all when none are named, that from now on somebody else has their lease, or nobody. */
  takenAway(tasks: readonly RigTask[] = this.tasks): void {
    for (const task of tasks) {
      task.fate = 'taken';
      task.goneAt = moment();
    }
  }

  /** Asks the store when the leases that were to run out have done so, or will, unless that is known already. */
  async readDeadlines(): Promise<void> {
    for (const task of this.tasks) {
      if (task.fate !== 'runs out' || task.goneAt !== undefined) continue;
      const until = await this.store.judge.leaseOf(task);
      if (until !== undefined) task.goneAt = momentOf(until - this.store.timeShift);
    }
  }

  /** Which of the leases that were to be kept the store has no more, or as run out. */
  async missing(): Promise<string[]> {
    const missing: string[] = [];
    for (const task of this.tasks) {
      if (task.fate !== 'kept') continue;
      const until = (await this.store.judge.leaseOf(task)) ?? 0;
      if (until < Date.now() + this.store.timeShift) missing.push(task.id);
    }
    return missing;
  }

  /** Lets the tasks that still run finish, and waits until all have ended. */
  async finish(): Promise<void> {
    this.app.send({ do: 'finish', ids: this.tasks.map(({ id }) => id) });
    await until('all tasks have ended', () => this.app.told('ended').length >= this.tasks.length);
  }

  /** What is still seen of this app when it has been dead for its ttl. */
  async seenDead(): Promise<number> {
    const { judge } = this.store;
    await sleep((this.app.endedAt ?? moment()) + TIMING.ttl + 20 - moment());
    return (await judge.seen()) + (await judge.seenByGo(this.store.goPort));
  }

  async stop(): Promise<void> {
    await this.app.stop();
    await this.store.stop();
  }
}
