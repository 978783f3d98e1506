import type { ServerIdentity } from './records.js';

/** asynq's key names. The braces are part of the names: they keep what belongs together in one slot of a cluster. */
export const SERVERS_KEY = 'asynq:servers';
export const WORKERS_KEY = 'asynq:workers';

export function serverKey(server: ServerIdentity): string {
  return `${SERVERS_KEY}:{${hashTag(server)}}`;
}

export function workersKey(server: ServerIdentity): string {
  return `${WORKERS_KEY}:{${hashTag(server)}}`;
}

export function leaseKey(queue: string): string {
  return `asynq:{${queue}}:lease`;
}

/** What the keys of a queue's tasks begin with; the task's id follows. */
export function taskKeyPrefix(queue: string): string {
  return `asynq:{${queue}}:t:`;
}

function hashTag({ host, pid, serverId }: ServerIdentity): string {
  return `${host.toWellFormed()}:${String(pid)}:${serverId}`;
}
