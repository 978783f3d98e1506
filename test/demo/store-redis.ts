import { Redis } from 'ioredis';
import { QUEUE } from './checksum.worker.js';
import type { Store } from './store.js';

/** Each server opens a connection of its own; this one only looks, as any tool that knows asynq's keys could. */
export function redisStore(url: string): Store {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    connectTimeout: 1000,
    commandTimeout: 1000,
    maxRetriesPerRequest: 0,
  });
  // That it cannot be reached is told by the servers, and shown in the table.
  redis.on('error', () => undefined);
  return {
    name: masked(url),
    options: { connection: url },
    look: async () => {
      try {
        if (redis.status === 'wait') await redis.connect();
        const now = Math.floor(Date.now() / 1000);
        const [servers, workers, leases] = await Promise.all([
          redis.zcount('asynq:servers', now, '+inf'),
          redis.zrangebyscore('asynq:workers', now, '+inf'),
          redis.zcount(`asynq:{${QUEUE}}:lease`, now, '+inf'),
        ]);
        const sizes = await Promise.all(workers.map((key) => redis.hlen(key)));
        return { servers, workers: sizes.reduce((sum, size) => sum + size, 0), leases };
      } catch {
        return undefined;
      }
    },
    close: () => {
      redis.disconnect();
    },
  };
}

function masked(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, username, password, host, pathname } = new URL(url);
  return `${protocol}//${username || password ? '***@' : ''}${host}${pathname}`;
}
