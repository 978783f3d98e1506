import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Faults, type FaultyRig } from './support/faults.js';
import { leaseKey } from './support/judge.js';
import { LONG_MS, SHORT_MS } from './support/timing.js';

const faults = Faults.on();

/** What a peer takes a task for. */
const PEER_LEASE_S = 60;

/** A peer takes all tasks, whose leases have run out; when it has them until. */
async function peerTakesAll(rig: FaultyRig): Promise<number> {
  await rig.readDeadlines();
  const score = Math.floor(Date.now() / 1000) + PEER_LEASE_S;
  for (const { queue, id } of rig.tasks) await rig.store.judge.redis.zadd(leaseKey(queue), score, id);
  return score * 1000;
}

async function expectPeerHasAll({ store, tasks }: FaultyRig, until: number): Promise<void> {
  for (const task of tasks) expect(await store.judge.leaseOf(task), `the peer's lease of ${task.id}`).toBe(until);
}

describe('Our process held up', () => {
  it('frozen for less than what is left of a lease', () =>
    faults.run({
      what: 'Our process frozen',
      inflict: async ({ app }) => {
        app.kill('SIGSTOP');
        await sleep(SHORT_MS);
        app.kill('SIGCONT');
      },
    }));

  it('frozen until a peer has taken its tasks', () => {
    let until = 0;
    return faults.run({
      what: 'Our process frozen, a peer takes its tasks',
      inflict: async (rig) => {
        rig.letRunOut();
        rig.app.kill('SIGSTOP');
        await sleep(LONG_MS);
        until = await peerTakesAll(rig);
        rig.app.kill('SIGCONT');
      },
      also: (rig) => expectPeerHasAll(rig, until),
    });
  });

  it('frozen in a beat, when it has asked for the time, until a peer has taken its tasks', () => {
    let until = 0;
    return faults.run({
      what: 'Our process frozen in a beat, a peer takes its tasks',
      inflict: async (rig) => {
        const { app, store } = rig;
        rig.letRunOut();
        await new Promise<void>((resolve) => {
          store.proxy.gatekeeper = ([name]) => {
            if (name !== 'TIME') return;
            // The answer is on its way: it is read first of all when the process is thawed.
            store.proxy.replyDelay = 50;
            app.kill('SIGSTOP');
            store.proxy.gatekeeper = undefined;
            resolve();
          };
        });
        await sleep(LONG_MS);
        store.proxy.replyDelay = 0;
        until = await peerTakesAll(rig);
        app.kill('SIGCONT');
      },
      also: (rig) => expectPeerHasAll(rig, until),
    });
  });

  it('its event loop blocked for less than what is left of a lease', () =>
    faults.run({
      what: 'Our event loop blocked',
      inflict: async ({ app }) => {
        app.send({ do: 'block', ms: SHORT_MS });
        await app.first('blocked');
      },
      also: ({ app, tasks }) => {
        expect(app.told('blocked')[0]?.valid).toEqual(tasks.map(({ id }) => id));
      },
    }));

  it('its event loop blocked for more than what is left of a lease', () =>
    faults.run({
      what: 'Our event loop blocked',
      inflict: async (rig) => {
        rig.letRunOut();
        rig.app.send({ do: 'block', ms: LONG_MS });
        await rig.app.first('blocked');
      },
      also: ({ app }) => {
        // At once, before any timer has had its turn.
        expect(app.told('blocked')[0]?.valid).toEqual([]);
      },
    }));
});
