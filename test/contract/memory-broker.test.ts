import { MemoryBroker } from '../../src/index.js';
import { bytesOf } from '../../src/format/codec.js';
import { FakeClock } from '../support/fake-clock.js';
import { describeBroker } from './broker.contract.js';
import { describe, expect, it } from 'vitest';
import { serverOf } from './broker.contract.js';

describeBroker('MemoryBroker', async () => {
  const clock = new FakeClock();
  const broker = new MemoryBroker(clock);
  return {
    broker,
    other: broker,
    servers: async () =>
      broker.servers().map(({ server, workers }) => ({
        serverId: server.serverId,
        status: server.status,
        activeWorkerCount: workers.length,
        workers: workers.map(({ id, queue, payload }) => ({
          id,
          queue,
          payload: Buffer.from(bytesOf(payload)).toString(),
        })),
      })),
    lease: async (queue, id) => broker.leases(queue).get(id),
    claim: async (queue, id, expiresAt) => void broker.claim(queue, id, expiresAt - clock.now()),
    now: async () => clock.now(),
    close: () => broker.close(),
  };
});

describe('MemoryBroker', () => {
  it('no longer lists a server whose record has run out', async () => {
    const clock = new FakeClock();
    const broker = new MemoryBroker(clock);
    await broker.writeState({ server: serverOf('s'), workers: [], ttl: 10_000 });
    await clock.advance(10_000);
    expect(broker.servers()).toHaveLength(1);
    await clock.advance(1);
    expect(broker.servers()).toHaveLength(0);
  });

  it('holds an exclusive lease until its very last moment', async () => {
    const clock = new FakeClock();
    const broker = new MemoryBroker(clock);
    await broker.acquire('q', 'a', 30_000);
    await clock.advance(30_000);
    expect(await broker.acquire('q', 'a', 30_000)).toBeUndefined();
    await clock.advance(1);
    expect(await broker.acquire('q', 'a', 30_000)).toBeDefined();
  });
});
