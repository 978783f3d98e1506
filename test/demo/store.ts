import type { HeartbeatOptions } from 'nestjs-heartbeat';
import { memoryStore } from './store-memory.js';
import { redisStore } from './store-redis.js';
import type { Holdings } from './view/snapshot.js';

/** Where the servers beat, and a look into it from outside. */
export interface Store {
  /** As shown to people: without a password. */
  readonly name: string;
  readonly options: Pick<HeartbeatOptions, 'broker' | 'connection'>;
  /** What is in there now; undefined when it does not answer. Never rejects. */
  look(): Promise<Holdings | undefined>;
  close(): void;
}

/** @param redisUrl none, or an empty one: everything stays in this process. */
export function openStore(redisUrl: string | undefined): Store {
  return redisUrl ? redisStore(redisUrl) : memoryStore();
}
