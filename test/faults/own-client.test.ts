import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { Faults } from './support/faults.js';
import { TIMING } from './support/timing.js';

const faults = Faults.on({ ownClient: true });

describe("The app's own client", () => {
  it('closed under us', () =>
    faults.run({
      what: "The app's own client closed",
      inflict: async ({ app }) => {
        app.send({ do: 'closeOwnClient' });
        await sleep(TIMING.ttl);
      },
    }));
});
