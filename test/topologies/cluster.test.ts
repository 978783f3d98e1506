import { Cluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClusterTopology } from '../support/topology-cluster.js';
import type { RedisServer } from '../support/redis-server.js';
import { until } from '../support/wait.js';
import { startApp, worksAsEverywhere, type RawStore } from './topology.suite.js';

let topology: ClusterTopology;
beforeAll(async () => {
  topology = await ClusterTopology.start();
});
afterAll(() => topology.stop());

const store = (): RawStore => ({
  raw: async (...command) => (await topology.primaryOf(command[1])).cli(...command),
  keys: async () => {
    const keys = await Promise.all(
      topology.servers.filter((server) => server.isRunning).map((server) => server.cli('KEYS', '*')),
    );
    return keys.flatMap((each) => each.split('\n')).filter((key) => key !== '');
  },
});

describe('a cluster of three primaries with replicas', () => {
  describe('by a list of nodes', () => {
    worksAsEverywhere(() => topology.nodes, store);
  });

  describe('by nodes and options, which would read from replicas', () => {
    worksAsEverywhere(() => ({ nodes: topology.nodes, options: { scaleReads: 'slave' } }), store);
  });

  describe('by a client of the app’s, which is left open', () => {
    let cluster: Cluster;
    beforeAll(() => {
      cluster = new Cluster(topology.nodes);
    });
    afterAll(async () => {
      expect(await cluster.set('app', 'alive')).toBe('OK');
      await cluster.del('app');
      cluster.disconnect();
    });
    worksAsEverywhere(() => cluster, store);
  });

  /** Two queues whose leases lie on different primaries, both other than that of `asynq:servers`' index if possible. */
  async function twoQueues(): Promise<[victim: string, other: string, primary: RedisServer]> {
    const first = 'q0';
    const primary = await topology.primaryOf(`asynq:{${first}}:lease`);
    for (let n = 1; n < 100; n += 1) {
      const queue = `q${String(n)}`;
      if ((await topology.primaryOf(`asynq:{${queue}}:lease`)) !== primary) return [first, queue, primary];
    }
    throw new Error('all queues lie on one primary');
  }

  it('loses no lease when a slot is migrated, step by step, while it beats', async () => {
    const { app, heartbeat, log } = await startApp({ connection: topology.nodes, leaseDuration: 6000 });
    const [queue, other] = await twoQueues();
    let end: () => void = () => undefined;
    const tracked = heartbeat.track(
      { id: 'a', type: 't', queue },
      () => new Promise<string>((resolve) => (end = () => resolve('kept'))),
      { exclusive: true },
    );
    await until('it runs', () => heartbeat.activeTasks.length === 1);
    const key = `asynq:{${queue}}:lease`;
    const target = await topology.primaryOf(`asynq:{${other}}:lease`);
    const beats: boolean[] = [];
    await topology.migrate(key, target, async () => {
      beats.push((await heartbeat.beat()).ok);
    });
    await until('it beats', async () => (await heartbeat.beat()).ok);
    expect(await topology.primaryOf(key)).toBe(target);
    expect(Number(await target.cli('ZSCORE', key, 'a')) * 1000).toBeGreaterThan(Date.now() + 3000);
    end();
    expect(await tracked).toBe('kept');
    await app.close();
    expect(await store().keys()).toEqual([]);
    expect(log.ours('warn').filter((line) => line.includes('lost'))).toEqual([]);
  });

  it('goes on with the other queues when one primary is killed, and with all when its replica has taken over', async () => {
    const { app, heartbeat } = await startApp({ connection: topology.nodes, leaseDuration: 12_000 });
    const [victim, other, primary] = await twoQueues();
    const ends: (() => void)[] = [];
    const track = (queue: string): Promise<string> =>
      heartbeat.track(
        { id: 'a', type: 't', queue },
        () => new Promise<string>((resolve) => ends.push(() => resolve(queue))),
        { exclusive: true },
      );
    const tracked = Promise.all([track(victim), track(other)]);
    await until('both run', () => heartbeat.activeTasks.length === 2);
    await heartbeat.beat();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const otherPrimary = await topology.primaryOf(`asynq:{${other}}:lease`);
    const score = async (): Promise<number> => Number(await otherPrimary.cli('ZSCORE', `asynq:{${other}}:lease`, 'a'));

    await primary.kill();
    const began = performance.now();
    const before = await score();
    // Long before a replica can have taken over.
    await until('the other queue is renewed', async () => (await score()) > before, 3000);
    await until('all of it beats again', async () => (await heartbeat.beat()).ok, 20_000);
    console.log(`beats are back ${String(Math.round(performance.now() - began))} ms after a primary was killed`);
    for (const end of ends) end();
    expect(await tracked).toEqual([victim, other]);
    await app.close();
    expect(await store().keys()).toEqual([]);
    await primary.restart();
    await topology.settled();
  });
});
