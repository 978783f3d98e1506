import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RedisProxy } from '../../support/redis-proxy.js';
import { RedisServer } from '../../support/redis-server.js';
import type { AppSetup } from '../app/protocol.js';
import { Judge } from './judge.js';

/** Where an app keeps its heartbeat, and how to look at it from outside. */
export interface Store {
  readonly connection: NonNullable<AppSetup['heartbeat']['connection']>;
  readonly judge: Judge;
  /** By how many milliseconds the clock that the app takes for the store's is ahead of this machine's. */
  readonly timeShift: number;
  /** Of the Redis that asynq's own tools are to read. */
  readonly goPort: number;
  stop(): Promise<void>;
}

/** A real Redis behind a bad line. */
export class ProxiedRedis implements Store {
  private constructor(
    readonly redis: RedisServer,
    readonly proxy: RedisProxy,
    readonly judge: Judge,
  ) {}

  static async start(args: readonly string[] = []): Promise<ProxiedRedis> {
    // What was answered is in the file's cache before the answer goes out: a crash of Redis, not of the machine, loses
    // nothing, and no disk is waited for.
    const redis = await RedisServer.start({ args: ['--appendonly', 'yes', '--appendfsync', 'no', ...args] });
    return new ProxiedRedis(redis, await RedisProxy.start(redis.port), Judge.ofPort(redis.port));
  }

  get connection(): string {
    return this.proxy.url;
  }

  get goPort(): number {
    return this.redis.port;
  }

  get timeShift(): number {
    return this.proxy.timeShift;
  }

  /** Like a crash: nobody is answered any more. */
  async kill(): Promise<void> {
    this.proxy.isRefusing = true;
    const killed = this.redis.kill();
    this.proxy.cut();
    await killed;
  }

  /** Starts it again, with what it held or without; clients reach it when it answers. */
  async restart({ empty }: { readonly empty: boolean }): Promise<void> {
    if (empty) await rm(join(this.redis.dir, 'appendonlydir'), { recursive: true, force: true });
    await this.redis.restart();
    this.proxy.isRefusing = false;
  }

  async stop(): Promise<void> {
    this.judge.close();
    await this.proxy.close();
    await this.redis.stop();
  }
}
