import type { Redis } from 'ioredis';
import { decodeServerInfo, decodeWorkerInfo } from '../../src/format/codec.js';
import type { SeenServer } from '../contract/broker.contract.js';

/** Reads servers as asynq's readers do: index, then record, then the values of the workers hash. */
export async function readServers(redis: Redis): Promise<SeenServer[]> {
  const now = Number((await redis.time())[0]);
  const members = await redis.zrangebyscore('asynq:servers', now, '+inf');
  const seen = await Promise.all(members.map((member) => readServer(redis, member)));
  return seen.filter((server) => server !== undefined);
}

async function readServer(redis: Redis, key: string): Promise<SeenServer | undefined> {
  const record = await redis.getBuffer(key);
  if (!record) return undefined;
  const { serverId, status, activeWorkerCount } = decodeServerInfo(record);
  const values = await redis.hvalsBuffer(key.replace('asynq:servers:', 'asynq:workers:'));
  const workers = values.map((value) => {
    const { taskId, queue, taskPayload } = decodeWorkerInfo(value);
    return { id: taskId, queue, payload: Buffer.from(taskPayload).toString() };
  });
  workers.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  return { serverId, status, activeWorkerCount, workers };
}
