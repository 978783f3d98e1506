import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { Faults } from './support/faults.js';
import { LONG_MS, SHORT_MS } from './support/timing.js';

const faults = Faults.on();

describe('Redis killed', () => {
  it('and restarted with its data, sooner than a lease runs out', () =>
    faults.run({
      what: 'Redis killed, restarted with its data',
      inflict: async ({ store }) => {
        await store.kill();
        await sleep(SHORT_MS);
        await store.restart({ empty: false });
      },
    }));

  it('and restarted empty, sooner than a lease runs out', () =>
    faults.run({
      what: 'Redis killed, restarted empty',
      inflict: async (rig) => {
        await rig.store.kill();
        await sleep(SHORT_MS);
        await rig.store.restart({ empty: true });
        rig.takenAway();
      },
    }));

  it('and restarted with its data, later than all leases have run out', () =>
    faults.run({
      what: 'Redis killed, restarted with its data',
      inflict: async (rig) => {
        rig.letRunOut();
        await rig.store.kill();
        await sleep(LONG_MS);
        await rig.store.restart({ empty: false });
      },
    }));
});
