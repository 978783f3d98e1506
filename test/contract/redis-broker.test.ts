import { Redis } from 'ioredis';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisBroker } from '../../src/index.js';
import { FakeLog } from '../support/fake-log.js';
import { readServers } from '../support/raw-reader.js';
import { RedisServer } from '../support/redis-server.js';
import { describeBroker, serverOf, workerOf } from './broker.contract.js';

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.port);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const leaseKey = (queue: string): string => `asynq:{${queue}}:lease`;

describeBroker('RedisBroker', async () => {
  await redis.flushall();
  const broker = new RedisBroker({ connection: server.url });
  const other = new RedisBroker({ connection: server.url });
  return {
    broker,
    other,
    servers: () => readServers(redis),
    lease: async (queue, id) => {
      const score = await redis.zscore(leaseKey(queue), id);
      return score === null ? undefined : Number(score) * 1000;
    },
    claim: async (queue, id, expiresAt) => {
      await redis.zadd(leaseKey(queue), Math.floor(expiresAt / 1000), id);
    },
    now: async () => {
      const [seconds, microseconds] = (await redis.time()).map(Number);
      return Number(seconds) * 1000 + Number(microseconds) / 1000;
    },
    close: async () => {
      await Promise.all([broker.close(), other.close()]);
    },
  };
});

describe('RedisBroker', () => {
  const open = async (): Promise<RedisBroker> => {
    await redis.flushall();
    return new RedisBroker({ connection: server.url });
  };
  const identity = '{host:1:s}';

  it('writes asynq’s four keys, with expiries and scores that agree', async () => {
    const broker = await open();
    await broker.writeState({ server: serverOf('s'), workers: [workerOf('a')], ttl: 10_000 });
    expect((await redis.keys('*')).sort()).toEqual([
      'asynq:servers',
      `asynq:servers:${identity}`,
      'asynq:workers',
      `asynq:workers:${identity}`,
    ]);
    const now = Number((await redis.time())[0]);
    for (const kind of ['servers', 'workers']) {
      const [member, score] = await redis.zrange(`asynq:${kind}`, '0', '-1', 'WITHSCORES');
      expect(member).toBe(`asynq:${kind}:${identity}`);
      expect(Number(score)).toBeGreaterThanOrEqual(now + 9);
      expect(Number(score)).toBeLessThanOrEqual(now + 10);
      const pttl = await redis.pttl(`asynq:${kind}:${identity}`);
      expect(pttl).toBeGreaterThan(9000);
      expect(pttl).toBeLessThanOrEqual(10_000);
    }
    await broker.close();
  });

  it('keeps the workers index entry, but no hash, when there is no worker', async () => {
    const broker = await open();
    const a = workerOf('a');
    await broker.writeState({ server: serverOf('s'), workers: [a], ttl: 10_000 });
    await broker.writeState({ server: serverOf('s'), workers: [], ttl: 10_000 });
    expect(await redis.exists(`asynq:workers:${identity}`)).toBe(0);
    expect(await redis.zcard('asynq:workers')).toBe(1);
    await broker.close();
  });

  it('takes a ttl that is no whole number of seconds', async () => {
    const broker = await open();
    await broker.writeState({ server: serverOf('s'), workers: [workerOf('a')], ttl: 2500 });
    expect(await redis.pttl(`asynq:servers:${identity}`)).toBeGreaterThan(2000);
    await broker.close();
  });

  it.each([
    ['everything was flushed', () => redis.flushall()],
    ['the workers were evicted', () => redis.del(`asynq:workers:${identity}`)],
    [
      'one worker was removed',
      async () => redis.hdel(`asynq:workers:${identity}`, (await redis.hkeys(`asynq:workers:${identity}`))[0] ?? ''),
    ],
    ['a stranger was added', () => redis.hset(`asynq:workers:${identity}`, 'stranger', 'x')],
    ['the index entries were removed', () => redis.del('asynq:servers', 'asynq:workers')],
  ])('heals with the next write after %s', async (_, harm) => {
    const broker = await open();
    const workers = [workerOf('a'), workerOf('b')];
    await broker.writeState({ server: serverOf('s'), workers, ttl: 10_000 });
    const before = await readServers(redis);
    await harm();
    await broker.writeState({ server: serverOf('s'), workers, ttl: 10_000 });
    expect(await readServers(redis)).toEqual(before);
    expect(before).toMatchObject([{ activeWorkerCount: 2, workers: [{ id: 'a' }, { id: 'b' }] }]);
    await broker.close();
  });

  it('clears all four keys', async () => {
    const broker = await open();
    await broker.writeState({ server: serverOf('s'), workers: [workerOf('a')], ttl: 10_000 });
    await broker.clear(serverOf('s'));
    expect(await redis.keys('*')).toEqual([]);
    await broker.close();
  });

  it('uses a client of the app’s by its options, prefix aside, and leaves it alone', async () => {
    await redis.flushall();
    const client = new Redis({ port: server.port, keyPrefix: 'app:', db: 3 });
    const broker = new RedisBroker({ connection: client });
    await broker.writeState({ server: serverOf('s'), workers: [], ttl: 10_000 });
    await broker.close();
    expect(await client.ping()).toBe('PONG');
    const inThree = new Redis({ port: server.port, db: 3 });
    expect(await inThree.exists('asynq:servers')).toBe(1);
    inThree.disconnect();
    client.disconnect();
  });

  it('opens no connection before the first call', async () => {
    await open();
    const before = await redis.client('LIST');
    const broker = new RedisBroker({ connection: server.url });
    expect(String(await redis.client('LIST')).split('\n')).toHaveLength(String(before).split('\n').length);
    await broker.close();
    await expect(broker.renew('q', ['a'], 30_000)).rejects.toMatchObject({ code: 'E_BROKER' });
  });

  it('rejects with what was wrong when Redis cannot be reached', async () => {
    const broker = new RedisBroker({ connection: 'redis://127.0.0.1:1', timeout: 500 });
    await expect(broker.writeState({ server: serverOf('s'), workers: [], ttl: 10_000 })).rejects.toMatchObject({
      code: 'E_BROKER',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
    await broker.close();
  });

  it('takes this machine’s clock, with one warning, where TIME is not permitted', async () => {
    await redis.flushall();
    await redis.acl('SETUSER', 'timeless', 'on', '>pw', '~asynq:*', '+@all', '-time');
    const log = new FakeLog();
    const broker = new RedisBroker({ connection: `redis://timeless:pw@127.0.0.1:${String(server.port)}`, log });
    for (let beat = 0; beat < 3; beat += 1) {
      await broker.writeState({ server: serverOf('s'), workers: [], ttl: 10_000 });
      await broker.renew('q', ['a'], 30_000);
    }
    expect(await broker.acquire('q', 'b', 30_000)).toBeDefined();
    expect(await readServers(redis)).toHaveLength(1);
    expect(log.warnings).toEqual([expect.stringContaining('+time')]);
    await broker.close();
  });

  it('does all that it does as the user that the README lists, and says nothing of it', async () => {
    await redis.flushall();
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const rule = /^ACL SETUSER heartbeat (.+)$/m.exec(readme)?.[1] ?? expect.unreachable('no ACL line in the README');
    await redis.call('ACL', 'SETUSER', 'heartbeat', 'reset', ...rule.split(' '));
    await redis.call('ACL', 'LOG', 'RESET');
    const log = new FakeLog();
    const connection = `redis://heartbeat:secret@127.0.0.1:${String(server.port)}/2`;
    const broker = new RedisBroker({ connection, log });
    const state = { server: serverOf('s'), ttl: 10_000 };
    await broker.writeState({ ...state, workers: [workerOf('a'), workerOf('b')] });
    await broker.writeState({ ...state, workers: [workerOf('c')] });
    const grant = await broker.acquire('q', 'a', 30_000);
    expect(await broker.renew('q', ['a', 'gone'], 30_000)).toMatchObject({ gone: ['gone'] });
    expect(await broker.release('q', 'a', Number(grant?.expiresAt), 'expire')).toBe(true);
    expect(await broker.release('q', 'a', Number(grant?.expiresAt), 'remove')).toBe(true);
    await broker.clear(serverOf('s'));
    await broker.close();
    expect(log.lines).toEqual([]);
    const refused = await redis.call('ACL', 'LOG');
    expect(refused).toEqual([]);
  });
});
