import { describe, expect, it } from 'vitest';
import { Faults, type FaultyRig } from './support/faults.js';
import { leaseKey } from './support/judge.js';
import type { RigTask } from './support/rig.js';
import { LONGEST_BELIEF_MS } from './support/timing.js';

const faults = Faults.on();

/** One task of each queue. */
const some = ({ tasks }: FaultyRig): RigTask[] => tasks.filter(({ id }) => id.endsWith('-1'));

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

async function move(rig: FaultyRig, seconds: number): Promise<void> {
  for (const { queue, id } of some(rig)) await rig.store.judge.redis.zadd(leaseKey(queue), inSeconds(seconds), id);
}

describe('Leases tampered with', () => {
  it('all data flushed', () =>
    faults.run({
      what: 'FLUSHALL',
      inflict: async (rig) => {
        await rig.store.judge.redis.flushall();
        rig.takenAway();
      },
      also: async ({ store, tasks }) => {
        // What was flushed is lost: no renewal has put it back.
        for (const task of tasks) expect(await store.judge.leaseOf(task)).toBeUndefined();
      },
    }));

  it('some entries deleted', () =>
    faults.run({
      what: 'Some leases deleted',
      inflict: async (rig) => {
        for (const { queue, id } of some(rig)) await rig.store.judge.redis.zrem(leaseKey(queue), id);
        rig.takenAway(some(rig));
      },
      also: async (rig) => {
        for (const task of some(rig)) expect(await rig.store.judge.leaseOf(task)).toBeUndefined();
      },
    }));

  it('some entries moved forward', () =>
    faults.run({ what: 'Some leases moved forward by a minute', inflict: (rig) => move(rig, 60) }));

  it('some entries moved back', () =>
    faults.run({
      what: 'Some leases moved back by an hour',
      inflict: async (rig) => {
        await move(rig, -3600);
      },
      also: (_, { back }) => {
        // Until then the store had them as run out: for no longer than a lease may be believed that is gone.
        expect(back).toBeLessThanOrEqual(LONGEST_BELIEF_MS);
      },
    }));
});
