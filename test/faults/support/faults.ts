import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { moment } from '../../support/moments.js';
import { expectGood } from './expectations.js';
import { Rig, type RigSetup } from './rig.js';
import { rowOf } from './row.js';
import { ProxiedRedis } from './store.js';
import { judgeTasks, type Verdict } from './verdict.js';

/** An app whose Redis is behind a bad line. */
export type FaultyRig = Rig<ProxiedRedis>;

export interface Fault<R extends Rig = FaultyRig> {
  /** What is broken. */
  readonly what: string;
  /** Whether the app is to end by it. */
  readonly isTheEnd?: boolean;
  /** Breaks it, and mends it. */
  inflict(rig: R): Promise<void>;
  /** What is to hold beside all that always must. */
  also?(rig: R, verdict: Verdict): Promise<void> | void;
}

/** Within this time of the loss of a lease there is a line in the log. */
const LOSSES_ARE_LOGGED_MS = 1100;

/** Faults that are inflicted on apps of one kind, each on an app of its own. */
export class Faults<R extends Rig = FaultyRig> {
  #next: Promise<R> | undefined;

  constructor(private readonly start: () => Promise<R>) {
    afterAll(async () => {
      await (await this.#next)?.stop();
    });
  }

  /** @param setup how the app of each fault is set up. */
  static on(setup: RigSetup = {}, redisArgs: readonly string[] = []): Faults {
    return new Faults(async () => Rig.start(await ProxiedRedis.start(redisArgs), setup));
  }

  /** Inflicts a fault on a fresh app, prints its line and holds it against what must be. */
  async run(fault: Fault<R>): Promise<void> {
    const rig = await this.#take();
    try {
      const verdict = await this.#judge(fault, rig);
      console.log(rowOf(verdict));
      expectGood(verdict);
      await fault.also?.(rig, verdict);
    } finally {
      await rig.stop();
    }
  }

  #take(): Promise<R> {
    const rig = this.#next ?? this.start();
    this.#next = undefined;
    return rig;
  }

  async #judge(fault: Fault<R>, rig: R): Promise<Verdict> {
    const { app } = rig;
    await rig.startTasks();
    const brokenAt = moment();
    await fault.inflict(rig);
    const mendedAt = moment();
    const backAt = fault.isTheEnd ? undefined : await rig.beatsSince(mendedAt);
    const missing = backAt === undefined ? [] : await this.#settle(rig, backAt);
    const logLines = app.log.filter(({ at }) => at > brokenAt).map(({ text }) => text);

    app.kill('SIGKILL');
    await app.ended(5000);
    // While this one is waited for, the next one can start: nothing is measured meanwhile.
    this.#next ??= this.start();
    const [deadSeen] = await Promise.all([rig.seenDead(), this.#next]);
    const tasks = judgeTasks(rig);
    return {
      ...tasks,
      what: fault.what,
      lasted: mendedAt - brokenAt,
      back: backAt === undefined ? undefined : backAt - mendedAt,
      wronglyLost: [...tasks.wronglyLost, ...missing],
      deadSeen,
      unhandled: app.told('unhandled').map(({ what }) => what),
      logLines,
    };
  }

  /** Waits until all has been told that there is to tell; which leases are missing that should be there. */
  async #settle(rig: R, backAt: number): Promise<string[]> {
    // By the end of a whole beat, all know of the leases that nobody may believe any more.
    await rig.beatsSince(backAt);
    if (rig.tasks.some(({ fate }) => fate === 'taken')) await sleep(LOSSES_ARE_LOGGED_MS);
    const missing = await rig.missing();
    await rig.readDeadlines();
    await rig.finish();
    return missing.map((id) => `${id}: not in the store`);
  }
}
