import { Redis } from 'ioredis';
import type { RedisConnection } from 'nestjs-heartbeat';

/** Redis by its URL, or as a client of the app's own; this one never connects, so that nobody has to close it. */
export function connectionFromEnv(): RedisConnection | undefined {
  const url = process.env['REDIS_URL'];
  if (url === undefined) return undefined;
  return process.env['CONNECT_WITH'] === 'client' ? new Redis(url, { lazyConnect: true }) : url;
}
