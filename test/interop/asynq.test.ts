import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { hostname } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HeartbeatModule, HeartbeatService, type HeartbeatModuleOptions } from '../../src/index.js';
import { asynqPeer, buildAsynqPeer } from '../support/asynq-peer.js';
import { claimTask } from '../support/claim.js';
import { NestLog } from '../support/nest-log.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/wait.js';

let server: RedisServer;
let redis: Redis;
const address = (): string => `127.0.0.1:${String(server.port)}`;

interface SeenByGo {
  readonly id: string;
  readonly status: string;
  readonly started: string;
  readonly active_workers: readonly { readonly started: string; readonly deadline: string }[];
}

const goServers = async (): Promise<SeenByGo[]> => (await asynqPeer(['servers', '--redis', address()])) as SeenByGo[];

const apps: { close(): Promise<void> }[] = [];

async function start(options: HeartbeatModuleOptions): Promise<HeartbeatService> {
  const app = await Test.createTestingModule({
    imports: [HeartbeatModule.forRoot({ connection: server.url, interval: 500, ttl: 2000, ...options })],
  })
    .setLogger(new NestLog())
    .compile();
  await app.init();
  apps.push(app);
  const heartbeat = app.get(HeartbeatService);
  await until('it beats', () => heartbeat.healthy);
  return heartbeat;
}

beforeAll(async () => {
  await buildAsynqPeer();
  server = await RedisServer.start();
  redis = new Redis(server.port);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => redis.flushall());
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

describe('asynq’s own Inspector', () => {
  it('sees every fact of our servers, each with its own workers', async () => {
    const first = await start({ host: 'one', concurrency: 7, queues: { emails: 3, low: 1 }, strictPriority: true });
    const second = await start({ queues: { 'ümläut 🚀': 2_147_483_647 }, concurrency: 2_147_483_647 });

    const deadline = new Date(Date.now() + 60_000);
    const payload = Buffer.from([0, 255, 128, 10, 13]);
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const tracked = [
      first.track({ id: 'a', type: 'email:send', queue: 'emails', payload }, () => ended, { deadline }),
      first.track({ id: 'b', type: 'no:deadline', queue: 'low' }, () => ended),
      second.track({ id: 'a', type: 'größe', queue: 'ümläut 🚀', payload: 'x'.repeat(65_536) }, () => ended),
    ];
    await Promise.all([first.beat(), second.beat()]);

    const seen = await goServers();
    const byId = new Map(seen.map((server) => [server.id, server]));
    expect(seen).toHaveLength(2);
    expect(byId.get(first.serverId)).toMatchObject({
      host: 'one',
      pid: process.pid,
      concurrency: 7,
      queues: { emails: 3, low: 1 },
      strict_priority: true,
      status: 'active',
      active_workers: [
        { task_id: 'a', task_type: 'email:send', queue: 'emails', task_payload: payload.toString('base64') },
        { task_id: 'b', task_type: 'no:deadline', queue: 'low', task_payload: '', deadline: '0001-01-01T00:00:00Z' },
      ],
    });
    const [started] = first.activeTasks.map((task) => task.startedAt);
    const [worker] = byId.get(first.serverId)?.active_workers ?? [];
    expect(new Date(worker?.started ?? 0)).toEqual(started);
    expect(new Date(worker?.deadline ?? 0)).toEqual(deadline);
    expect(Math.abs(Date.parse(byId.get(first.serverId)?.started ?? '') - Date.now())).toBeLessThan(30_000);
    expect(byId.get(second.serverId)).toMatchObject({
      host: hostname(),
      concurrency: 2_147_483_647,
      queues: { 'ümläut 🚀': 2_147_483_647 },
      strict_priority: false,
      active_workers: [
        { task_id: 'a', task_type: 'größe', task_payload: Buffer.from('x'.repeat(65_536)).toString('base64') },
      ],
    });

    end();
    await Promise.all(tracked);
    await Promise.all([first.beat(), second.beat()]);
    expect((await goServers()).flatMap(({ active_workers }) => active_workers)).toEqual([]);
  });

  it('follows the status, and no longer sees what was shut down', async () => {
    const heartbeat = await start({ drainTimeout: 5000 });
    const status = async (): Promise<string[]> => (await goServers()).map((seen) => seen.status);
    expect(await status()).toEqual(['active']);
    heartbeat.stop();
    await heartbeat.beat();
    expect(await status()).toEqual(['stopped']);
    heartbeat.resume();
    await heartbeat.beat();
    expect(await status()).toEqual(['active']);

    let end: () => void = () => undefined;
    const tracked = heartbeat.track(
      { id: 'a', type: 't', queue: 'q' },
      () => new Promise<void>((resolve) => (end = resolve)),
    );
    const closed = apps.splice(0)[0]?.close();
    await until('closed is written', async () => (await status())[0] === 'closed');
    end();
    await Promise.all([tracked, closed]);
    expect(await goServers()).toEqual([]);
    expect(await redis.keys('asynq:servers*')).toEqual([]);
    expect(await redis.keys('asynq:workers*')).toEqual([]);
  });

  it('shows a task that a Go client enqueued and we work on as active, with its deadline, and not orphaned', async () => {
    const heartbeat = await start({ queues: { emails: 1 }, leaseDuration: 2000 });
    await asynqPeer([
      'enqueue',
      '--redis',
      address(),
      '--queue',
      'emails',
      '--type',
      'email:send',
      '--payload-base64',
      'AP8=',
      '--id',
      'task-1',
    ]);
    const claimed = await claimTask(redis, 'emails', 2);
    if (!claimed) return expect.unreachable('nothing was claimed');
    const deadline = new Date(Date.now() + 60_000);
    let end: () => void = () => undefined;
    const tracked = heartbeat.track(
      { id: claimed.id, type: 'email:send', queue: 'emails', payload: Buffer.from([0, 255]) },
      () => new Promise<void>((resolve) => (end = resolve)),
      { lease: heartbeat.leaseUntil(claimed.leaseExpiresAt * 1000), deadline },
    );
    // Longer than the lease: it is only held because it is renewed.
    await new Promise((resolve) => setTimeout(resolve, 4500));
    expect(await asynqPeer(['active', '--redis', address(), '--queue', 'emails'])).toMatchObject([
      { id: 'task-1', type: 'email:send', is_orphaned: false },
    ]);
    const [seen] = await goServers();
    expect(seen?.active_workers).toMatchObject([{ task_id: 'task-1', queue: 'emails', task_payload: 'AP8=' }]);
    expect(new Date(seen?.active_workers[0]?.deadline ?? 0)).toEqual(deadline);
    end();
    await tracked;
  });
});
