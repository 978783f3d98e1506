import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFile } from 'node:fs/promises';
import { RedisServer } from '../support/redis-server.js';
import { TlsTopology } from '../support/topology-tls.js';
import { startApp, worksAsEverywhere, type RawStore } from './topology.suite.js';

const storeOf = (server: RedisServer): RawStore => ({
  raw: (...command) => server.cli(...command),
  keys: async () => (await server.cli('KEYS', '*')).split('\n').filter((key) => key !== ''),
});

describe('a standalone Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start({ unixSocket: true });
  });
  afterAll(() => server.stop());

  describe('by URL', () => {
    worksAsEverywhere(
      () => server.url,
      () => storeOf(server),
    );
  });

  describe('by a Unix socket', () => {
    worksAsEverywhere(
      () => server.socketPath,
      () => storeOf(server),
    );
  });

  describe('by a Unix socket in ioredis options', () => {
    worksAsEverywhere(
      () => ({ path: server.socketPath ?? '' }),
      () => storeOf(server),
    );
  });

  describe('as a user that may do just what the README lists', () => {
    beforeAll(async () => {
      const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
      const rule = /^ACL SETUSER heartbeat (.+)$/m.exec(readme)?.[1] ?? expect.unreachable('no ACL line');
      await server.cli('ACL', 'SETUSER', 'heartbeat', 'reset', ...rule.split(' '));
      await server.cli('ACL', 'LOG', 'RESET');
    });
    worksAsEverywhere(
      () => server.url.replace('//', '//heartbeat:secret@'),
      () => storeOf(server),
    );

    it('is refused nothing', async () => {
      expect(await server.cli('ACL', 'LOG')).toBe('');
    });
  });

  it('says once that a policy other than noeviction may drop leases, with what to do', async () => {
    await server.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const { app, heartbeat, log } = await startApp({ connection: server.url });
    await heartbeat.beat();
    await heartbeat.beat();
    await app.close();
    await server.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    expect(log.ours('warn').filter((line) => line.includes('allkeys-lru'))).toEqual([
      expect.stringContaining('CONFIG SET maxmemory-policy noeviction'),
    ]);
  });

  it('is rid of what servers that died over an hour ago left behind, and of nothing else', async () => {
    const now = Math.floor(Date.now() / 1000);
    const old = now - 3700;
    await server.cli('ZADD', 'asynq:servers', old, 'asynq:servers:{dead:1:x}', now - 60, 'asynq:servers:{late:1:x}');
    await server.cli('ZADD', 'asynq:workers', old, 'asynq:workers:{dead:1:x}', now - 60, 'asynq:workers:{late:1:x}');
    await server.cli('ZADD', 'asynq:{crons}:lease', old, 'dead', old, 'a task', now - 60, 'late');
    await server.cli('HSET', 'asynq:{crons}:t:a task', 'msg', 'x');
    const { app } = await startApp({ connection: server.url, queues: { crons: 1 } });
    await app.close();
    expect(await server.cli('ZRANGE', 'asynq:servers', 0, -1)).toBe('asynq:servers:{late:1:x}');
    expect(await server.cli('ZRANGE', 'asynq:workers', 0, -1)).toBe('asynq:workers:{late:1:x}');
    // The lease of a task is left to whoever recovers it.
    expect((await server.cli('ZRANGE', 'asynq:{crons}:lease', 0, -1)).split('\n').sort()).toEqual(['a task', 'late']);

    await server.cli('ZADD', 'asynq:servers', old, 'asynq:servers:{dead:1:x}');
    const off = await startApp({ connection: server.url, pruneAfter: 0 });
    await off.app.close();
    expect(await server.cli('ZRANGE', 'asynq:servers', 0, -1)).toContain('dead');
    await server.cli('FLUSHALL');
  });
});

describe('TLS with a client certificate', () => {
  let topology: TlsTopology;
  beforeAll(async () => {
    topology = await TlsTopology.start();
  });
  afterAll(() => topology.stop());

  worksAsEverywhere(
    () => ({ host: '127.0.0.1', port: topology.port, tls: topology.tls }),
    () => storeOf(topology.server),
  );
});
