/** Only compiled: what an app may and may not write. */
import { Module } from '@nestjs/common';
import { Cluster, Redis } from 'ioredis';
import {
  BEAT,
  HEARTBEAT_OPTIONS,
  HeartbeatModule,
  HeartbeatOptionError,
  MemoryBroker,
  type Broker,
  type HeartbeatEventPayloads,
  type HeartbeatModuleAsyncOptions,
  type HeartbeatOptions,
  type ResolvedHeartbeatOptions,
} from 'nestjs-heartbeat';

const lazy = { lazyConnect: true };

export const connections: HeartbeatOptions[] = [
  {},
  { connection: 'rediss://user:secret@redis.example:6380/1' },
  { connection: { host: '127.0.0.1', port: 6379, db: 1, tls: {} } },
  { connection: { sentinels: [{ host: '127.0.0.1', port: 26379 }], name: 'primary' } },
  { connection: [{ host: '127.0.0.1', port: 7000 }, 7001, 'redis://127.0.0.1:7002'] },
  { connection: { nodes: [{ host: '127.0.0.1', port: 7000 }], options: { natMap: {}, redisOptions: { db: 0 } } } },
  { connection: new Redis('redis://127.0.0.1', lazy) },
  { connection: new Cluster([7000], lazy) },
  { broker: new MemoryBroker() satisfies Broker },
  // Left undefined on purpose, as by an environment variable that is not set: the same as left out.
  { connection: undefined, interval: undefined, queues: undefined },
];

// @ts-expect-error A time is a number.
export const text: HeartbeatOptions = { interval: '500' };
// @ts-expect-error There is no such option.
export const unknown: HeartbeatOptions = { intervall: 500 };

class Config {
  readonly heartbeat: HeartbeatOptions = { interval: 500 };
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

export const asynchronous: HeartbeatModuleAsyncOptions = {
  isGlobal: true,
  imports: [ConfigModule],
  inject: [Config],
  useFactory: ({ heartbeat }: Config) => heartbeat,
};
export const modules = [
  HeartbeatModule,
  HeartbeatModule.forRoot(),
  HeartbeatModule.forRoot({ isGlobal: true, queues: { mail: 1 } }),
  HeartbeatModule.forRootAsync(asynchronous),
];

export const inspect = {
  inject: [HEARTBEAT_OPTIONS],
  provide: 'inspect',
  useFactory: ({ ttl, queues }: ResolvedHeartbeatOptions): number => ttl + Object.keys(queues).length,
};

export function onBeat(payload: HeartbeatEventPayloads[typeof BEAT]): string {
  return `${payload.host}:${payload.pid} after ${payload.duration.toFixed()} ms, ${payload.errors.length} errors`;
}

export function optionOf(error: unknown): string | undefined {
  return error instanceof HeartbeatOptionError && error.code === 'E_OPTION' ? error.option : undefined;
}
