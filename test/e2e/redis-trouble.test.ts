import { Test } from '@nestjs/testing';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HeartbeatModule, HeartbeatService, RedisBroker, type HeartbeatModuleOptions } from '../../src/index.js';
import { NestLog } from '../support/nest-log.js';
import { readServers } from '../support/raw-reader.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/wait.js';

let server: RedisServer;
let close: (() => Promise<unknown>)[] = [];
const rejections: unknown[] = [];
const onRejection = (reason: unknown): void => void rejections.push(reason);

beforeEach(async () => {
  server = await RedisServer.start();
  rejections.length = 0;
  process.on('unhandledRejection', onRejection);
});

afterEach(async () => {
  for (const end of close.reverse()) await end();
  close = [];
  await server.stop();
  process.off('unhandledRejection', onRejection);
  expect(rejections).toEqual([]);
});

async function start(
  options: HeartbeatModuleOptions = {},
): Promise<{ heartbeat: HeartbeatService; log: NestLog; broker: RedisBroker }> {
  const log = new NestLog();
  const module = await Test.createTestingModule({
    imports: [
      EventEmitterModule.forRoot(),
      ScheduleModule.forRoot(),
      HeartbeatModule.forRoot({ connection: server.url, interval: 500, ttl: 2000, ...options }),
    ],
  })
    .setLogger(log)
    .compile();
  await module.init();
  close.push(() => module.close());
  return { heartbeat: module.get(HeartbeatService), log, broker: module.get(RedisBroker) };
}

function client(): Redis {
  const redis = new Redis(server.port, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  close.push(async () => redis.disconnect());
  return redis;
}

/** Whether anybody handles SIGTERM in a test is no matter here. */
const beatWarnings = (log: NestLog): string[] => log.ours('warn').filter((line) => !line.includes('SIGTERM'));

describe('Redis trouble', () => {
  it('of a Redis that is not there at start: the app comes up, warns once, and beats when Redis does', async () => {
    await server.kill();
    const began = performance.now();
    const { heartbeat, log } = await start();
    expect(performance.now() - began).toBeLessThan(1000);
    await sleep(1500);
    expect(heartbeat.healthy).toBe(false);
    await server.restart();
    await until('it beats', () => heartbeat.healthy, 5000);
    expect(await readServers(client())).toMatchObject([{ serverId: heartbeat.serverId }]);
    expect(beatWarnings(log)).toHaveLength(1);
    expect(beatWarnings(log)[0]).toContain('ECONNREFUSED');
  });

  it('of a Redis that was killed and came back empty: server, workers and index entries are back', async () => {
    const { heartbeat } = await start();
    const tracked = heartbeat.track({ id: 'a', type: 't', queue: 'q' }, () => sleep(4000));
    await until('it beats', () => heartbeat.healthy);
    await server.kill();
    await sleep(1200);
    await server.restart();
    const redis = client();
    await until('it is back', async () => (await readServers(redis))[0]?.workers.length === 1, 4000);
    expect(await redis.zcard('asynq:workers')).toBe(1);
    await tracked;
  });

  it('of a Redis that accepts and does not answer: nothing here is blocked, and it beats again after', async () => {
    const { heartbeat, log } = await start({ leaseDuration: 20_000 });
    const work = heartbeat.track({ id: 'a', type: 't', queue: 'q' }, () => sleep(3500), { exclusive: true });
    await until('it beats', () => heartbeat.healthy);
    server.freeze();
    const began = performance.now();
    expect(await heartbeat.beat()).toMatchObject({ ok: false });
    expect(performance.now() - began).toBeLessThan(1000);
    await sleep(2100);
    expect(heartbeat.healthy).toBe(false);
    server.thaw();
    await until('it beats', () => heartbeat.healthy, 4000);
    await work;
    expect(beatWarnings(log)).toHaveLength(1);
  });

  it('of a Redis that refuses writes: said once, with its own words', async () => {
    const redis = client();
    await redis.config('SET', 'maxmemory', '1');
    const { heartbeat, log } = await start();
    await sleep(1500);
    expect(heartbeat.healthy).toBe(false);
    expect(beatWarnings(log)).toEqual([expect.stringContaining('OOM')]);
    await redis.config('SET', 'maxmemory', '0');
    await until('it beats', () => heartbeat.healthy, 4000);
  });

  it('of the app’s own client being closed under us: beats go on', async () => {
    const own = new Redis(server.port);
    const { heartbeat } = await start({ connection: own });
    await until('it beats', () => heartbeat.healthy);
    own.disconnect();
    const before = heartbeat.lastBeatAt;
    await until('it beats again', () => Number(heartbeat.lastBeatAt) > Number(before));
  });
});
