import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { Faults, type FaultyRig } from './support/faults.js';
import { LONG_MS, SHORT_MS } from './support/timing.js';

/** So slow to load that there is time to be refused. */
const KEY_LOAD_MS = 5;
const faults = Faults.on({}, [
  ...['--key-load-delay', String(KEY_LOAD_MS * 1000)],
  ...['--loading-process-events-interval-bytes', '1024'],
]);

interface Refusal {
  begin(rig: FaultyRig): Promise<unknown>;
  end(rig: FaultyRig): Promise<unknown>;
}

const outOfMemory: Refusal = {
  begin: ({ store }) => store.judge.redis.config('SET', 'maxmemory', '1'),
  end: ({ store }) => store.judge.redis.config('SET', 'maxmemory', '0'),
};

/** A replica of nobody, as a primary is that was demoted. */
const readOnly: Refusal = {
  begin: async ({ store }) => store.judge.redis.call('REPLICAOF', '127.0.0.1', String(await freePort())),
  end: ({ store }) => store.judge.redis.call('REPLICAOF', 'NO', 'ONE'),
};

const noAuthentication: Refusal = {
  begin: async ({ store }) => {
    await store.judge.redis.config('SET', 'requirepass', 'secret');
    await store.judge.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  },
  end: ({ store }) => store.judge.redis.config('SET', 'requirepass', ''),
};

const busy: Refusal = {
  begin: async ({ store }) => {
    await store.judge.redis.config('SET', 'busy-reply-threshold', '10');
    const script = new Redis(store.redis.port, { maxRetriesPerRequest: 0 });
    void script
      .eval('while true do end', 0)
      .catch(() => undefined)
      .finally(() => {
        script.disconnect();
      });
  },
  end: ({ store }) => store.judge.redis.call('SCRIPT', 'KILL'),
};

const ENDLESS = { OOM: outOfMemory, READONLY: readOnly, NOAUTH: noAuthentication, BUSY: busy };

describe('Redis refusing', () => {
  it.each(Object.entries(ENDLESS))('%s, for less than what is left of a lease', (name, refusal) =>
    faults.run({
      what: `Redis refuses: ${name}`,
      inflict: async (rig) => {
        await refusal.begin(rig);
        await sleep(SHORT_MS);
        await refusal.end(rig);
      },
    }),
  );

  it('OOM, for more than what is left of a lease', () =>
    faults.run({
      what: 'Redis refuses: OOM',
      inflict: async (rig) => {
        rig.letRunOut();
        await outOfMemory.begin(rig);
        await sleep(LONG_MS);
        await outOfMemory.end(rig);
      },
    }));

  it('LOADING, for less than what is left of a lease', () =>
    faults.run({
      what: 'Redis refuses: LOADING',
      inflict: async ({ store }) => {
        const { redis } = store.judge;
        const filler = Array.from({ length: SHORT_MS / KEY_LOAD_MS }, (_, index) => [`filler:${String(index)}`, 'x']);
        await redis.mset(...filler.flat());
        await redis.bgrewriteaof();
        const state = async (): Promise<string> => redis.info('persistence');
        await store.judge.until('rewritten', async () =>
          (await state()).includes('aof_rewrite_in_progress:0') ? true : undefined,
        );
        await store.kill();
        await store.restart({ empty: false });
        await store.judge.until('loaded', async () => ((await state()).includes('\nloading:0') ? true : undefined));
      },
    }));
});
