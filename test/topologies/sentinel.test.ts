import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SENTINEL_NAME, SentinelTopology } from '../support/topology-sentinel.js';
import { until } from '../support/wait.js';
import { startApp, worksAsEverywhere } from './topology.suite.js';

describe('a primary with a replica and Sentinel', () => {
  let topology: SentinelTopology;
  beforeAll(async () => {
    topology = await SentinelTopology.start();
  });
  afterAll(() => topology.stop());

  const connection = () => ({ sentinels: [...topology.sentinels], name: SENTINEL_NAME });

  worksAsEverywhere(connection, () => ({
    raw: async (...command) => (await topology.primary()).cli(...command),
    keys: async () => (await (await topology.primary()).cli('KEYS', '*')).split('\n').filter((key) => key !== ''),
  }));

  it.each([
    ['that is told to step down, and refuses writes from then on', async () => topology.failOver()],
    ['that is killed', async () => (await topology.primary()).kill()],
  ])('follows to the new primary from one %s, and loses no lease', async (_, fail) => {
    await topology.settled();
    const { app, heartbeat } = await startApp({ connection: connection(), leaseDuration: 12_000 });
    let end: () => void = () => undefined;
    const tracked = heartbeat.track(
      { id: 'a', type: 't', queue: 'q' },
      () => new Promise<string>((resolve) => (end = () => resolve('kept'))),
      { exclusive: true },
    );
    await until('it runs', () => heartbeat.activeTasks.length === 1);
    await heartbeat.beat();
    const before = await topology.primary();
    // What the replica has not yet received would be lost with the primary.
    await new Promise((resolve) => setTimeout(resolve, 500));

    await fail();
    const began = performance.now();
    await until('there is another primary', async () => (await topology.primary()) !== before, 15_000);
    const primary = await topology.primary();
    // Until the old primary hears that it is none, it takes writes that will be lost.
    await until(
      'the old one is down or demoted',
      async () => !before.isRunning || (await before.cli('ROLE')).startsWith('slave'),
      15_000,
    );
    const written = await primary.cli('ZRANGE', 'asynq:servers', 0, -1, 'WITHSCORES');
    await until(
      'it beats there',
      async () => (await primary.cli('ZRANGE', 'asynq:servers', 0, -1, 'WITHSCORES')) !== written && heartbeat.healthy,
      15_000,
    );
    console.log(`beats are back ${String(Math.round(performance.now() - began))} ms after the primary failed`);
    expect(await heartbeat.beat()).toMatchObject({ ok: true });
    end();
    expect(await tracked).toBe('kept');
    await app.close();
    expect(await primary.cli('KEYS', '*')).toBe('');
    if (!before.isRunning) await before.restart();
  });
});
