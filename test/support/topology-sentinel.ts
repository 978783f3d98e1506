import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, killChild, spawnTied } from './child.js';
import { freePort } from './ports.js';
import { redisBinary } from './redis-binary.js';
import { RedisServer } from './redis-server.js';
import { until } from './wait.js';

export const SENTINEL_NAME = 'heart';

/** A primary with a replica, and three Sentinels that fail over within a few seconds. */
export class SentinelTopology {
  private constructor(
    readonly servers: readonly RedisServer[],
    readonly sentinels: readonly { readonly host: string; readonly port: number }[],
    private readonly children: readonly Child[],
    private readonly dir: string,
  ) {}

  static async start(): Promise<SentinelTopology> {
    const primary = await RedisServer.start();
    const replica = await RedisServer.start({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    await until('the replica follows', async () =>
      (await replica.cli('INFO', 'replication')).includes('link_status:up'),
    );
    const dir = await mkdtemp(join(tmpdir(), 'sentinel-test-'));
    const { path, env } = await redisBinary('redis-server');
    const children: Child[] = [];
    const sentinels: { host: string; port: number }[] = [];
    for (let n = 0; n < 3; n += 1) {
      const port = await freePort();
      const file = join(dir, `sentinel-${String(n)}.conf`);
      await writeFile(
        file,
        [
          `port ${String(port)}`,
          'bind 127.0.0.1',
          `dir ${dir}`,
          `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${String(primary.port)} 2`,
          `sentinel down-after-milliseconds ${SENTINEL_NAME} 1000`,
          `sentinel failover-timeout ${SENTINEL_NAME} 3000`,
        ].join('\n'),
      );
      children.push(spawnTied(path, [file, '--sentinel'], { env, cwd: dir }));
      sentinels.push({ host: '127.0.0.1', port });
    }
    const topology = new SentinelTopology([primary, replica], sentinels, children, dir);
    for (const { port } of sentinels) {
      await until('the Sentinels know each other and the replica', async () => {
        const info = await topology.ask(port, ['INFO', 'sentinel']).catch(() => '');
        return info.includes('slaves=1,sentinels=3');
      });
    }
    return topology;
  }

  /** The server that the Sentinels take for the primary. */
  async primary(): Promise<RedisServer> {
    const answer = await this.ask(this.sentinels[0]?.port ?? 0, ['SENTINEL', 'get-master-addr-by-name', SENTINEL_NAME]);
    const server = this.servers.find(({ port }) => answer.split('\n').includes(String(port)));
    if (!server) throw new Error(`the Sentinels name ${answer}`);
    return server;
  }

  /** Resolves when the other server follows the primary: only then can it take over what that holds. */
  async settled(): Promise<void> {
    await until(
      'the replica follows',
      async () => {
        const primary = await this.primary();
        const replica = this.servers.find((server) => server !== primary);
        const info = (await replica?.cli('INFO', 'replication')) ?? '';
        return info.includes(`master_port:${String(primary.port)}`) && info.includes('link_status:up');
      },
      20_000,
    );
  }

  /** Makes the replica the primary; the old one lives on, demoted. */
  async failOver(): Promise<void> {
    await this.ask(this.sentinels[0]?.port ?? 0, ['SENTINEL', 'FAILOVER', SENTINEL_NAME]);
  }

  async stop(): Promise<void> {
    await Promise.all(this.children.map((child) => killChild(child)));
    await Promise.all(this.servers.map((server) => server.stop()));
    await rm(this.dir, { recursive: true, force: true });
  }

  private async ask(port: number, command: [string, ...string[]]): Promise<string> {
    return RedisServer.ask(port, ...command);
  }
}
