import { MemoryBroker } from 'nestjs-heartbeat';
import { QUEUE } from './checksum.worker.js';
import type { Store } from './store.js';

/** One broker that all servers share: it is the store. */
export function memoryStore(): Store {
  const broker = new MemoryBroker();
  return {
    name: 'MemoryBroker',
    options: { broker },
    look: async () => {
      const servers = broker.servers();
      const now = Date.now();
      return {
        servers: servers.length,
        workers: servers.reduce((sum, { workers }) => sum + workers.length, 0),
        leases: [...broker.leases(QUEUE).values()].filter((expiresAt) => expiresAt >= now).length,
      };
    },
    close: () => undefined,
  };
}
