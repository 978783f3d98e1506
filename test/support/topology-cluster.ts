import { RedisServer } from './redis-server.js';
import { until } from './wait.js';

const SLOTS = 16_384;
const PRIMARIES = 3;

/** A cluster of three primaries with a replica each. */
export class ClusterTopology {
  private constructor(readonly servers: readonly RedisServer[]) {}

  static async start(): Promise<ClusterTopology> {
    const args = [
      ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500', '--cluster-announce-ip', '127.0.0.1'],
      // A primary that is alone for a moment must not wait for its replica before it counts as replaceable.
      ...['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0'],
    ];
    const servers = await Promise.all(Array.from({ length: 2 * PRIMARIES }, () => RedisServer.start({ args })));
    const topology = new ClusterTopology(servers);
    const [first, ...others] = servers;
    if (!first) throw new Error('no server was started');
    // Each node takes an epoch of its own, as the tool that makes clusters sees to.
    await Promise.all(servers.map((server, index) => server.cli('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)));
    await Promise.all(others.map(({ port }) => first.cli('CLUSTER', 'MEET', '127.0.0.1', port)));
    await Promise.all(
      servers.slice(0, PRIMARIES).map((server, index) => {
        const from = Math.floor((index * SLOTS) / PRIMARIES);
        const to = Math.floor(((index + 1) * SLOTS) / PRIMARIES) - 1;
        return server.cli('CLUSTER', 'ADDSLOTSRANGE', from, to);
      }),
    );
    await until('all nodes know each other', async () => {
      const known = await Promise.all(
        servers.map(async (server) => (await server.cli('CLUSTER', 'NODES')).trim().split('\n')),
      );
      return known.every(
        (nodes) => nodes.length === servers.length && !nodes.some((node) => node.includes('handshake')),
      );
    });
    await Promise.all(
      servers.slice(PRIMARIES).map(async (replica, index) => {
        const id = (await servers[index]?.cli('CLUSTER', 'MYID')) ?? '';
        await replica.cli('CLUSTER', 'REPLICATE', id);
      }),
    );
    await topology.settled();
    return topology;
  }

  /** Resolves when every node that runs sees a whole cluster, and replicas follow. */
  async settled(): Promise<void> {
    await until(
      'the cluster is whole',
      async () => {
        const running = this.servers.filter((server) => server.isRunning);
        const states = await Promise.all(running.map((server) => server.cli('CLUSTER', 'INFO').catch(() => '')));
        const links = await Promise.all(running.map((server) => server.cli('INFO', 'replication').catch(() => '')));
        return (
          states.every((state) => state.includes('cluster_state:ok')) &&
          links.every((link) => !link.includes('link_status:down'))
        );
      },
      20_000,
    );
  }

  get nodes(): { host: string; port: number }[] {
    return this.servers.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** The primary that holds a key. */
  async primaryOf(key: string): Promise<RedisServer> {
    const slot = Number(await this.servers.find((server) => server.isRunning)?.cli('CLUSTER', 'KEYSLOT', key));
    for (const server of this.servers.filter((each) => each.isRunning)) {
      const lines = (await server.cli('CLUSTER', 'NODES')).split('\n').filter((line) => line.includes('myself'));
      const [line = ''] = lines;
      if (!line.includes('master')) continue;
      for (const range of line.split(' ').slice(8)) {
        const [from, to = from] = range.split('-').map(Number);
        if (from !== undefined && to !== undefined && slot >= from && slot <= to) return server;
      }
    }
    throw new Error(`no primary holds ${key}`);
  }

  /** Moves the slot of a key, with all that is in it, to another primary, one step at a time. */
  async migrate(key: string, to: RedisServer, between: () => Promise<void>): Promise<void> {
    const from = await this.primaryOf(key);
    const slot = Number(await from.cli('CLUSTER', 'KEYSLOT', key));
    const [source, target] = await Promise.all([from.cli('CLUSTER', 'MYID'), to.cli('CLUSTER', 'MYID')]);
    await to.cli('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source);
    await from.cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target);
    await between();
    for (;;) {
      const keys = (await from.cli('CLUSTER', 'GETKEYSINSLOT', slot, 100)).split('\n').filter((name) => name !== '');
      if (keys.length === 0) break;
      for (const name of keys) await from.cli('MIGRATE', '127.0.0.1', to.port, name, 0, 5000);
    }
    await between();
    await to.cli('CLUSTER', 'SETSLOT', slot, 'NODE', target);
    await from.cli('CLUSTER', 'SETSLOT', slot, 'NODE', target);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}
