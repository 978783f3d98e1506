import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RedisServer } from '../support/redis-server.js';
import { App } from './app.js';
import { AppProcess } from './app-process.js';
import { installedCopies } from './npm.js';
import { oldestPeers, peerDependencies } from './package-json.js';

const peers = Object.keys(peerDependencies);

/** Without rxjs: only Nest uses it, and the oldest one lacks types where Nest's own look for them. */
const oldest = [...oldestPeers(peers.filter((name) => name !== 'rxjs')), ...oldestTesting()];

/** Nest's packages go in step. */
function oldestTesting(): string[] {
  return oldestPeers(['@nestjs/core']).map((core) => core.replace('core', 'testing'));
}

interface Variant {
  app: string;
  with: string;
  packages: string[];
}

const variants: Variant[] = [
  ...['cjs-nest11', 'cjs-nest12', 'esm-nest12'].flatMap((app) =>
    ['ioredis@5', 'ioredis@6'].map((ioredis) => ({ app, with: ioredis, packages: [ioredis] })),
  ),
  { app: 'cjs-nest11', with: 'the oldest versions', packages: oldest },
];

let redis: RedisServer;
let reader: Redis;

beforeAll(async () => {
  redis = await RedisServer.start();
  reader = new Redis(redis.url);
});

afterAll(async () => {
  reader.disconnect();
  await redis.stop();
});

describe.each(variants)('$app with $with', ({ app: name, packages }) => {
  let app: App;
  let running: AppProcess | undefined;

  const start = (script: string, env?: Record<string, string>): AppProcess => {
    running = new AppProcess(app.folder, script, env);
    return running;
  };

  beforeAll(async () => {
    app = await App.copy(name);
    await app.install(packages);
  });

  afterEach(async () => {
    await running?.stop();
    await reader.flushall();
  });

  afterAll(async () => {
    await app.remove();
  });

  it('has one copy of each peer', async () => {
    const copies = await installedCopies(app.folder, peers);
    for (const peer of peers) expect(copies[peer], peer).toHaveLength(1);
    for (const wanted of packages.filter((candidate) => candidate.startsWith('ioredis@'))) {
      expect(`ioredis@${copies['ioredis']?.[0]}`).toMatch(wanted);
    }
  });

  it('type-checks and compiles', async () => {
    expect(await app.compile()).toBe('');
  });

  it('runs its own test on a MemoryBroker', async () => {
    const test = start('dist/common/memory.js');
    expect(await test.reported('memory')).toEqual({ event: 'memory', ok: true, listed: 1, left: 0 });
    expect(await test.ended()).toBe(0);
  });

  it.each(['url', 'client'])('beats into Redis by a %s, and leaves nothing behind at SIGTERM', async (connectWith) => {
    const server = start('dist/main.js', { REDIS_URL: redis.url, CONNECT_WITH: connectWith });
    const up = await server.reported('up');
    expect(up).toEqual({ event: 'up', serverId: expect.any(String) as string, healthy: true, sameServer: true });
    expect(await server.reported('secondHolder')).toEqual({ event: 'secondHolder', refused: true });

    const tag = `{packaging:${server.pid}:${String(up['serverId'])}}`;
    const [serverKey, workersKey] = [`asynq:servers:${tag}`, `asynq:workers:${tag}`];
    expect(await reader.keys('*')).toEqual(
      expect.arrayContaining(['asynq:servers', serverKey, 'asynq:workers', workersKey, 'asynq:{mail}:lease']),
    );
    expect(await reader.zrange('asynq:servers', 0, '-1')).toEqual([serverKey]);
    expect(await reader.zrange('asynq:workers', 0, '-1')).toEqual([workersKey]);
    // Encoded, but the ids stand in them as they are.
    const workers = (await reader.hvals(workersKey)).map((worker) => /mail-1|image-1/.exec(worker)?.[0]);
    expect(workers.sort()).toEqual(['image-1', 'mail-1']);
    expect(await reader.zrange('asynq:{mail}:lease', 0, '-1')).toEqual(['mail-1']);

    expect(await server.terminate(10_000)).toBeLessThan(10_000);
    expect(server.reports).toContainEqual({ event: 'closing', activeTasks: 2 });
    expect(server.reports).toContainEqual({ event: 'done', done: 'held to the end' });
    expect(await reader.keys('*')).toEqual([]);

    // Each of the library's hooks runs once, and after the app's own.
    expect(server.hooks).toEqual([
      'worker.onModuleDestroy',
      'heartbeat.onModuleDestroy',
      'heartbeat.onModuleDestroy over',
      'worker.beforeApplicationShutdown',
      'worker.onApplicationShutdown',
      'heartbeat.onApplicationShutdown',
      'heartbeat.onApplicationShutdown over',
    ]);
    expect(server.otherOutput).toEqual([]);
  });
});
