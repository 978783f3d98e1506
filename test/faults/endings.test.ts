import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { moment } from '../support/moments.js';
import { until } from '../support/wait.js';
import { Faults, type FaultyRig } from './support/faults.js';
import { TIMING } from './support/timing.js';

const faults = Faults.on();

/** What is left of the shutdown's calls when Redis does not answer: the running beat, the last, and the clearing. */
const LONGEST_CLOSE_MS = 3 * TIMING.beatTimeout;

const names = ({ tasks }: FaultyRig): string[] => tasks.map(({ id }) => id);

/** At once, not only when it has run out. */
async function expectCleared({ store }: FaultyRig): Promise<void> {
  const { redis } = store.judge;
  expect(await redis.keys('asynq:servers*')).toEqual([]);
  expect(await redis.keys('asynq:workers*')).toEqual([]);
}

async function expectLeasesKept({ store, tasks }: FaultyRig): Promise<void> {
  for (const task of tasks) expect(await store.judge.leaseOf(task), task.id).toBeGreaterThan(Date.now());
}

describe('Endings', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s while tasks run that finish then', (signal) =>
    faults.run({
      what: `${signal} while tasks run`,
      isTheEnd: true,
      inflict: async (rig) => {
        const { app } = rig;
        app.kill(signal);
        await app.first('draining');
        await sleep(2 * TIMING.interval);
        await expectLeasesKept(rig);
        app.send({ do: 'finish', ids: names(rig) });
        expect(await app.ended(5000)).toBe(true);
        await expectCleared(rig);
      },
      also: ({ app }) => {
        expect(app.signal).toBe(signal);
        expect(app.told('cleared')).toMatchObject([{ is: 'cleared' }]);
      },
    }),
  );

  it('SIGKILL', () =>
    faults.run({
      what: 'SIGKILL',
      isTheEnd: true,
      inflict: async ({ app, tasks }) => {
        for (const task of tasks) task.fate = 'abandoned';
        app.kill('SIGKILL');
        await app.ended(5000);
      },
      also: async ({ store, tasks }) => {
        for (const task of tasks) {
          expect(await store.judge.leaseOf(task)).toBeLessThanOrEqual(Date.now() + TIMING.leaseDuration);
        }
      },
    }));

  it('a second close(), while the first one runs and when it is over', () =>
    faults.run({
      what: 'close() three times',
      isTheEnd: true,
      inflict: async (rig) => {
        const { app } = rig;
        app.send({ do: 'close' });
        app.send({ do: 'close' });
        await app.first('draining');
        app.send({ do: 'finish', ids: names(rig) });
        await until('both have ended', () => app.told('closed').length === 2);
        await expectCleared(rig);
        app.send({ do: 'close' });
        await until('the third has ended', () => app.told('closed').length === 3);
        await expectCleared(rig);
      },
      also: ({ app }) => {
        expect(app.told('cleared')).toHaveLength(1);
      },
    }));

  it('a close() during a beat that hangs', () =>
    faults.run({
      what: 'close() during a beat that hangs',
      isTheEnd: true,
      inflict: async (rig) => {
        const { app, store } = rig;
        await new Promise<void>((resolve) => {
          store.proxy.gatekeeper = ([name]) => {
            if (name !== 'TIME') return;
            store.proxy.gatekeeper = undefined;
            store.proxy.blackHole();
            resolve();
          };
        });
        const begun = moment();
        app.send({ do: 'finish', ids: names(rig) });
        app.send({ do: 'close' });
        const { at } = await app.first('closed');
        expect(at - begun).toBeLessThanOrEqual(LONGEST_CLOSE_MS + TIMING.interval);
        // Nothing of it may arrive now.
        store.proxy.heal();
      },
      also: ({ app }) => {
        expect(app.told('cleared')[0]?.error).toBeDefined();
      },
    }));

  it('tasks of three lease lengths that finish during the shutdown', () =>
    faults.run({
      what: 'SIGTERM, then tasks run for three leases',
      isTheEnd: true,
      inflict: async (rig) => {
        const { app } = rig;
        app.kill('SIGTERM');
        const end = moment() + 3 * TIMING.leaseDuration;
        while (moment() < end) {
          await expectLeasesKept(rig);
          await sleep(200);
        }
        app.send({ do: 'finish', ids: names(rig) });
        expect(await app.ended(5000)).toBe(true);
        await expectCleared(rig);
      },
    }));
});
