import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Broker, ServerInfo, WorkerInfo } from '../../src/index.js';

/** A store as the suite sees it: behind the broker's back. */
export interface BrokerHarness {
  readonly broker: Broker;
  /** Another broker on the same store, as another server has it. */
  readonly other: Broker;
  /** Servers that a reader of the store would find, with their workers. */
  servers(): Promise<SeenServer[]>;
  /** When the lease of a task runs out, in epoch milliseconds; undefined when the store holds none. */
  lease(queue: string, id: string): Promise<number | undefined>;
  /** Puts a lease into the store as whoever claims a task does. */
  claim(queue: string, id: string, expiresAt: number): Promise<void>;
  /** The store's own time, in epoch milliseconds. */
  now(): Promise<number>;
  close(): Promise<void>;
}

export interface SeenServer {
  readonly serverId: string;
  readonly status: string;
  readonly activeWorkerCount: number;
  readonly workers: readonly { readonly id: string; readonly queue: string; readonly payload: string }[];
}

export const serverOf = (serverId: string, status: ServerInfo['status'] = 'active'): ServerInfo => ({
  host: 'host',
  pid: 1,
  serverId,
  concurrency: 10,
  queues: { default: 3, low: 1 },
  strictPriority: true,
  status,
  startedAt: Date.UTC(2026, 0, 1),
});

export const workerOf = (id: string, queue = 'default'): WorkerInfo => ({
  id,
  type: 'type',
  queue,
  payload: `payload of ${id}`,
  startedAt: Date.UTC(2026, 0, 1),
  deadline: undefined,
});

/** What every broker does, whatever its store: run it on one of your own. */
export function describeBroker(name: string, open: () => Promise<BrokerHarness>): void {
  describe(`${name} keeps to the broker's contract`, () => {
    let store: BrokerHarness;
    const seen = async (): Promise<[string, string[]][]> =>
      (await store.servers()).map(({ serverId, workers }) => [serverId, workers.map(({ id }) => id).sort()]);

    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    describe('writeState', () => {
      it('makes the store say just what is', async () => {
        const a = workerOf('a');
        const b = workerOf('b', 'low');
        const states = [[], [a], [a, b], [b], [], [a, b]];
        for (const workers of states) {
          await store.broker.writeState({ server: serverOf('s'), workers, ttl: 10_000 });
          expect(await store.servers()).toEqual([
            {
              serverId: 's',
              status: 'active',
              activeWorkerCount: workers.length,
              workers: workers.map(({ id, queue }) => ({ id, queue, payload: `payload of ${id}` })),
            },
          ]);
        }
      });

      it('tells the store’s now', async () => {
        const before = await store.now();
        const { storeNow } = await store.broker.writeState({ server: serverOf('s'), workers: [], ttl: 10_000 });
        expect(storeNow).toBeGreaterThanOrEqual(before - 1);
        expect(storeNow).toBeLessThanOrEqual((await store.now()) + 1000);
      });

      it('follows the status', async () => {
        for (const status of ['active', 'stopped', 'closed'] as const) {
          await store.broker.writeState({ server: serverOf('s', status), workers: [], ttl: 10_000 });
          expect(await store.servers()).toMatchObject([{ status }]);
        }
      });

      it('keeps servers with the same host and pid apart', async () => {
        await store.broker.writeState({ server: serverOf('one'), workers: [workerOf('a')], ttl: 10_000 });
        await store.other.writeState({ server: serverOf('two'), workers: [workerOf('b')], ttl: 10_000 });
        expect((await seen()).sort()).toEqual([
          ['one', ['a']],
          ['two', ['b']],
        ]);
        await store.broker.clear(serverOf('one'));
        expect(await seen()).toEqual([['two', ['b']]]);
      });

      it('holds the same id in two queues, and two runs of one task', async () => {
        const workers = [workerOf('a'), workerOf('a', 'low'), workerOf('a')];
        await store.broker.writeState({ server: serverOf('s'), workers, ttl: 10_000 });
        expect(await seen()).toEqual([['s', ['a', 'a', 'a']]]);
      });

      it('holds thousands', async () => {
        const workers = Array.from({ length: 3000 }, (_, index) => workerOf(String(index)));
        await store.broker.writeState({ server: serverOf('s'), workers, ttl: 10_000 });
        expect((await store.servers())[0]?.workers).toHaveLength(3000);
      });

      it('is refused, sending nothing, when its signal has aborted', async () => {
        const signal = AbortSignal.abort(new Error('too late'));
        const written = store.broker.writeState({ server: serverOf('s'), workers: [], ttl: 10_000 }, { signal });
        await expect(written).rejects.toThrow('too late');
        expect(await seen()).toEqual([]);
      });
    });

    describe('clear', () => {
      it('removes the server, and nothing of it is written again', async () => {
        const state = { server: serverOf('s'), workers: [workerOf('a')], ttl: 10_000 };
        await store.broker.writeState(state);
        await store.broker.clear(serverOf('s'));
        expect(await seen()).toEqual([]);
        await expect(store.broker.writeState(state)).rejects.toMatchObject({ code: 'E_SERVER_CLOSED' });
        expect(await seen()).toEqual([]);
      });

      it('is no error for a server that was never written', async () => {
        await store.broker.clear(serverOf('never'));
        expect(await seen()).toEqual([]);
      });
    });

    describe('renew', () => {
      it('moves the leases that exist, and says when they run out', async () => {
        const now = await store.now();
        await store.claim('q', 'a', now + 5000);
        await store.claim('q', 'b', now + 5000);
        const { expiresAt, storeNow, gone } = await store.broker.renew('q', ['a', 'b'], 30_000);
        expect(gone).toEqual([]);
        expect(expiresAt % 1000).toBe(0);
        expect(expiresAt - storeNow).toBeGreaterThan(28_990);
        expect(expiresAt - storeNow).toBeLessThanOrEqual(30_000);
        expect(await store.lease('q', 'a')).toBe(expiresAt);
        expect(await store.lease('q', 'b')).toBe(expiresAt);
      });

      it('creates none, and says which are gone', async () => {
        await store.claim('q', 'b', (await store.now()) + 5000);
        expect(await store.broker.renew('q', ['a', 'b', 'c'], 30_000)).toMatchObject({ gone: ['a', 'c'] });
        expect(await store.lease('q', 'a')).toBeUndefined();
        expect(await store.broker.renew('empty', ['a'], 30_000)).toMatchObject({ gone: ['a'] });
      });

      it('says the truth also when no score changes', async () => {
        await store.claim('q', 'a', (await store.now()) + 5000);
        await store.claim('q', 'b', (await store.now()) + 5000);
        await store.broker.renew('q', ['a', 'b'], 30_000);
        const again = await store.broker.renew('q', ['a', 'b', 'c'], 30_000);
        expect(again.gone).toEqual(['c']);
      });

      it('never moves a lease before what it last wrote', async () => {
        await store.claim('q', 'a', (await store.now()) + 5000);
        const { expiresAt } = await store.broker.renew('q', ['a'], 60_000);
        expect(await store.broker.renew('q', ['a'], 30_000)).toMatchObject({ expiresAt });
        expect(await store.lease('q', 'a')).toBe(expiresAt);
      });

      it('renews thousands', async () => {
        const ids = Array.from({ length: 2500 }, (_, index) => String(index));
        const now = await store.now();
        await Promise.all(ids.slice(1).map((id) => store.claim('q', id, now + 5000)));
        const { gone, expiresAt } = await store.broker.renew('q', ids, 30_000);
        expect(gone).toEqual(['0']);
        expect(await store.lease('q', '2499')).toBe(expiresAt);
      });
    });

    describe('acquire', () => {
      it('takes a lease that nobody holds', async () => {
        const grant = await store.broker.acquire('q', 'a', 30_000);
        expect(grant?.expiresAt).toBe(await store.lease('q', 'a'));
        expect(Number(grant?.expiresAt) - Number(grant?.storeNow)).toBeGreaterThan(28_990);
        expect(Number(grant?.expiresAt) - Number(grant?.storeNow)).toBeLessThanOrEqual(30_000);
      });

      it('leaves a lease that somebody holds', async () => {
        const grant = await store.broker.acquire('q', 'a', 30_000);
        expect(await store.other.acquire('q', 'a', 60_000)).toBeUndefined();
        expect(await store.lease('q', 'a')).toBe(grant?.expiresAt);
        expect(await store.other.acquire('other queue', 'a', 60_000)).toBeDefined();
      });

      it('takes a lease that has run out by the store’s clock', async () => {
        await store.claim('q', 'a', (await store.now()) - 1000);
        expect(await store.other.acquire('q', 'a', 30_000)).toBeDefined();
      });

      it('goes to one of many who ask at once', async () => {
        const asked = Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? store.broker : store.other).acquire('q', 'a', 30_000),
        );
        expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
      });
    });

    describe('release', () => {
      it('removes a lease that is ours', async () => {
        const grant = await store.broker.acquire('q', 'a', 30_000);
        expect(await store.broker.release('q', 'a', Number(grant?.expiresAt), 'remove')).toBe(true);
        expect(await store.lease('q', 'a')).toBeUndefined();
        expect(await store.broker.release('q', 'a', Number(grant?.expiresAt), 'remove')).toBe(false);
      });

      it('leaves a lease that somebody has taken since', async () => {
        const now = await store.now();
        await store.claim('q', 'a', now - 2000);
        await store.other.acquire('q', 'a', 30_000);
        for (const mode of ['remove', 'expire'] as const) {
          expect(await store.broker.release('q', 'a', now - 2000, mode)).toBe(false);
        }
        expect(await store.lease('q', 'a')).toBeGreaterThan(now);
      });

      it('lets a claimed lease run out now, where whoever recovers tasks finds it', async () => {
        const now = await store.now();
        await store.claim('q', 'a', now + 30_000);
        expect(await store.broker.release('q', 'a', now + 30_000, 'expire')).toBe(true);
        const left = await store.lease('q', 'a');
        expect(left).toBeGreaterThan(now - 1001);
        expect(left).toBeLessThanOrEqual(await store.now());
      });

      it('moves no lease forward', async () => {
        const past = Math.floor((await store.now()) / 1000) * 1000 - 60_000;
        await store.claim('q', 'a', past);
        expect(await store.broker.release('q', 'a', past, 'expire')).toBe(true);
        expect(await store.lease('q', 'a')).toBe(past);
      });
    });
  });
}
