import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { FakeWallClock } from './support/faketime.js';
import { Faults, type FaultyRig } from './support/faults.js';
import { Rig } from './support/rig.js';
import { ProxiedRedis } from './support/store.js';
import { LONG_MS, SHORT_MS, TIMING } from './support/timing.js';

type SteppedRig = FaultyRig & { readonly wallClock: FakeWallClock };

const faults = new Faults<SteppedRig>(async () => {
  const store = await ProxiedRedis.start();
  const wallClock = await FakeWallClock.in(store.redis.dir);
  return Object.assign(await Rig.start(store, { env: wallClock.env }), { wallClock });
});

const HOUR = 3600;

const STEPS = [
  { step: '+1 h', seconds: HOUR },
  { step: '−1 h', seconds: -HOUR },
  { step: '+5 s', seconds: 5 },
  { step: '−5 s', seconds: -5 },
];

/** Long enough to tell whether leases are still renewed. */
const SEVERAL_BEATS_MS = 3 * TIMING.interval;

describe('Clocks stepped', () => {
  // A clock that was put forward must not end a lease too early, and one that was put back not too late.
  it.each(STEPS)('our wall clock by $step while Redis answers, then while it does not', ({ step, seconds }) =>
    faults.run({
      what: `Our wall clock stepped by ${step}, Redis silent`,
      inflict: async (rig) => {
        await rig.wallClock.step(seconds);
        await sleep(SEVERAL_BEATS_MS);
        if (seconds < 0) rig.letRunOut();
        rig.store.proxy.blackHole();
        await sleep(seconds < 0 ? LONG_MS : SHORT_MS);
        rig.store.proxy.heal();
      },
    }),
  );

  it.each(STEPS.filter(({ seconds }) => Math.abs(seconds) === HOUR))(
    "the store's clock by $step, and back",
    ({ step, seconds }) =>
      faults.run({
        what: `The store's clock stepped by ${step}, and back`,
        inflict: async (rig) => {
          rig.store.proxy.timeShift = seconds * 1000;
          await sleep(SEVERAL_BEATS_MS);
          await rig.beatsSince(0);
          rig.store.proxy.timeShift = 0;
        },
      }),
  );
});
