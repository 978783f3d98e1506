import { Redis, type Cluster } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { asynqPeer } from '../../support/asynq-peer.js';
import { moment } from '../../support/moments.js';

export interface TaskName {
  readonly id: string;
  readonly queue: string;
}

/** Under which keys an app has its record and its workers. */
export interface ServerKeys {
  readonly serverKey: string;
  readonly workersKey: string;
}

const COMMAND_TIMEOUT_MS = 500;
const LOOK_EVERY_MS = 15;

/** What Redis itself says, asked directly and in plain commands: nothing of this package's own reading is trusted. */
export class Judge {
  /** @param redis straight to Redis, not through what is broken on the way. */
  constructor(readonly redis: Redis | Cluster) {}

  static ofPort(port: number): Judge {
    const redis = new Redis({
      port,
      host: '127.0.0.1',
      commandTimeout: COMMAND_TIMEOUT_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: () => LOOK_EVERY_MS,
      maxLoadingRetryTime: LOOK_EVERY_MS,
    });
    redis.on('error', () => undefined);
    return new Judge(redis);
  }

  close(): void {
    this.redis.disconnect();
  }

  /** Puts a task's lease into the store, as whoever claims it does; until when, in epoch milliseconds. */
  async claim(task: TaskName, leaseMs: number): Promise<number> {
    const score = Math.floor((Date.now() + leaseMs) / 1000);
    await this.redis.zadd(leaseKey(task.queue), score, task.id);
    return score * 1000;
  }

  /** When a lease runs out, in epoch milliseconds; undefined when there is none. */
  async leaseOf({ id, queue }: TaskName): Promise<number | undefined> {
    const score = await this.redis.zscore(leaseKey(queue), id);
    return score === null ? undefined : Number(score) * 1000;
  }

  /** The moment at which a record was written that was to last for `ttl`; undefined when it is not there. */
  async writtenAt(serverKey: string, ttl: number): Promise<number | undefined> {
    const left = await this.redis.pttl(serverKey);
    return left < 0 ? undefined : moment() - (ttl - left);
  }

  /** Whether both indexes name a server until a wall-clock time or later, with at least so many workers. */
  async isListed({ serverKey, workersKey }: ServerKeys, wall: number, workers: number): Promise<boolean> {
    const [server, index, count] = await Promise.all([
      this.redis.zscore('asynq:servers', serverKey),
      this.redis.zscore('asynq:workers', workersKey),
      this.redis.hlen(workersKey),
    ]);
    return Number(server) * 1000 > wall && Number(index) * 1000 > wall && count >= workers;
  }

  /** How many servers and workers a reader sees: whatever the indexes name and is there. */
  async seen(): Promise<number> {
    const now = Math.floor(Date.now() / 1000);
    const [servers, workers] = await Promise.all(
      ['asynq:servers', 'asynq:workers'].map((index) => this.redis.zrangebyscore(index, now, '+inf')),
    );
    const records = await Promise.all((servers ?? []).map((key) => this.redis.exists(key)));
    const fields = await Promise.all((workers ?? []).map((key) => this.redis.hlen(key)));
    return [...records, ...fields].reduce((sum, count) => sum + count, 0);
  }

  /** How many servers, with their workers, asynq's Inspector lists. */
  async seenByGo(port: number): Promise<number> {
    const servers = await asynqPeer(['servers', '--redis', `127.0.0.1:${String(port)}`]);
    return servers.length;
  }

  /** Looks again and again until Redis says what is awaited; what it says while it cannot be asked does not count. */
  async until<T>(what: string, look: () => Promise<T | undefined>, ms = 15_000): Promise<T> {
    const end = moment() + ms;
    for (;;) {
      const found = await look().catch(() => undefined);
      if (found !== undefined) return found;
      if (moment() > end) throw new Error(`not within ${String(ms)} ms: ${what}`);
      await sleep(LOOK_EVERY_MS);
    }
  }
}

export function leaseKey(queue: string): string {
  return `asynq:{${queue}}:lease`;
}
