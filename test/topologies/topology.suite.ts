import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HeartbeatModule, HeartbeatService, LeaseHeldError, type HeartbeatModuleOptions } from '../../src/index.js';
import { NestLog } from '../support/nest-log.js';
import { until } from '../support/wait.js';

export const TIMING = { interval: 500, ttl: 2000, leaseDuration: 3000, beatTimeout: 300 };

export interface StartedApp {
  readonly app: INestApplicationContext;
  readonly heartbeat: HeartbeatService;
  readonly log: NestLog;
}

export async function startApp(options: HeartbeatModuleOptions): Promise<StartedApp> {
  const log = new NestLog();
  const app = await Test.createTestingModule({ imports: [HeartbeatModule.forRoot({ ...TIMING, ...options })] })
    .setLogger(log)
    .compile();
  await app.init();
  const heartbeat = app.get(HeartbeatService);
  await until('it beats', () => heartbeat.healthy);
  return { app, heartbeat, log };
}

/** The store seen from outside: raw commands, past the module. */
export interface RawStore {
  /** One command, sent to whoever holds its key; the reply as text, an array as one line per element. */
  readonly raw: (...command: [name: string, key: string, ...args: (string | number)[]]) => Promise<string>;
  /** All keys, of all nodes. */
  readonly keys: () => Promise<string[]>;
}

/** What the module does on any topology. */
export function worksAsEverywhere(connection: () => HeartbeatModuleOptions['connection'], store: () => RawStore): void {
  it('lists a server and its worker, keeps leases, runs exclusive work once, and leaves nothing behind', async () => {
    const { raw, keys } = store();
    const one = await startApp({ connection: connection() });
    const two = await startApp({ connection: connection() });
    const id = one.heartbeat.serverId;

    // A claimed lease is renewed for longer than it was granted for.
    const expiry = Math.floor(Date.now() / 1000) + 3;
    for (const task of ['kept', 'taken']) await raw('ZADD', 'asynq:{claims}:lease', expiry, task);
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const track = (task: string): Promise<unknown> =>
      one.heartbeat
        .track({ id: task, type: 't', queue: 'claims' }, () => ended, {
          lease: one.heartbeat.leaseUntil(expiry * 1000),
        })
        .catch((error: unknown) => error);
    const kept = track('kept');
    const taken = track('taken');
    await one.heartbeat.beat();
    const members = (await raw('ZRANGE', 'asynq:servers', 0, -1)).split('\n');
    const member = members.find((name) => name.includes(id)) ?? expect.unreachable('not in the index');
    expect(await raw('HLEN', member.replace('servers', 'workers'))).toBe('2');
    await sleep(4500);
    expect(Number(await raw('ZSCORE', 'asynq:{claims}:lease', 'kept'))).toBeGreaterThan(expiry + 1);

    // One that is gone is told so.
    await raw('ZREM', 'asynq:{claims}:lease', 'taken');
    await until('the loss is noticed', () => one.heartbeat.overdueTasks === 1, 4000);

    // Exclusive work.
    const cron = { id: 'cron', type: 't', queue: 'crons' };
    const exclusive = one.heartbeat.track(cron, () => ended, { exclusive: true });
    await until('it runs', () => one.heartbeat.activeTasks.length === 3);
    await expect(two.heartbeat.track(cron, () => 1, { exclusive: true })).rejects.toBeInstanceOf(LeaseHeldError);

    end();
    await Promise.all([exclusive, kept]);
    expect(await taken).toMatchObject({ reason: 'lost' });
    expect(await two.heartbeat.track(cron, () => 'mine', { exclusive: true })).toBe('mine');
    await Promise.all([one.app.close(), two.app.close()]);
    await raw('DEL', 'asynq:{claims}:lease');
    expect(await keys()).toEqual([]);
    const complaints = [...one.log.ours('warn'), ...two.log.ours('warn')].filter(
      (line) => !/Module is not imported|SIGTERM|lost the lease/.test(line),
    );
    expect(complaints).toEqual([]);
  });
}
