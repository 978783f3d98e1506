import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Faults, type FaultyRig } from './support/faults.js';
import { LONG_MS, SHORT_MS, TIMING } from './support/timing.js';

const faults = Faults.on();

const LENGTHS = [
  { length: 'less than what is left of a lease', ms: SHORT_MS },
  { length: 'more than what is left of a lease', ms: LONG_MS },
];

/** What a beat says is true for as long as its budget: Redis must not get it later, when the network has healed. */
function expectNothingStale({ store, app }: FaultyRig): void {
  const stalls = app.told('stalled').map(({ from, at }) => at - from);
  expect(store.proxy.longestHold).toBeLessThanOrEqual(TIMING.beatTimeout + Math.max(0, ...stalls) + 50);
}

describe('Redis silent', () => {
  it.each(LENGTHS)('frozen for $length', ({ ms }) =>
    faults.run({
      what: 'Redis frozen',
      inflict: async (rig) => {
        if (ms === LONG_MS) rig.letRunOut();
        rig.store.redis.freeze();
        await sleep(ms);
        rig.store.redis.thaw();
      },
    }),
  );

  it.each(LENGTHS)('behind a black-holed socket for $length', ({ ms }) =>
    faults.run({
      what: 'Redis behind a black hole',
      inflict: async (rig) => {
        if (ms === LONG_MS) rig.letRunOut();
        rig.store.proxy.blackHole();
        await sleep(ms);
        rig.store.proxy.heal();
      },
      also: expectNothingStale,
    }),
  );

  it.each(LENGTHS)('slow, each reply later than the budget, for $length', ({ ms }) =>
    faults.run({
      what: 'Redis slower than the budget',
      inflict: async (rig) => {
        if (ms === LONG_MS) rig.letRunOut();
        rig.store.proxy.replyDelay = TIMING.beatTimeout + 50;
        await sleep(ms);
        rig.store.proxy.replyDelay = 0;
      },
    }),
  );
});
