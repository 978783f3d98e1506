export {
  HeartbeatModule,
  type HeartbeatModuleAsyncOptions,
  type HeartbeatModuleExtras,
  type HeartbeatModuleOptions,
} from './heartbeat.module.js';
export { HeartbeatService, type ActiveTask } from './heartbeat.service.js';
export { HeartbeatOptionError, type HeartbeatOptions, type ResolvedHeartbeatOptions } from './heartbeat.options.js';
export * from './heartbeat.events.js';
export { HEARTBEAT_INTERVAL } from './heartbeat.interval.js';
export { HEARTBEAT_CLOCK, HEARTBEAT_HOST_PROCESS, HEARTBEAT_OPTIONS } from './heartbeat.tokens.js';
export type { HostProcess } from './host-process.js';

export type { BeatReport } from './beat/beat.js';
export type { BeatHistory } from './beat/beat-loop.js';
export { InvalidTaskError, type Task, type TaskFinish, type TaskRef, type TaskStart } from './task/task.js';
export type { TaskContext, TrackOptions } from './task/task-tracker.js';
export { LeaseHeldError } from './task/lease-held.error.js';
export { HeartbeatDisabledError } from './server/server.js';
export { Lease } from './lease/lease.js';
export { LEASE_LOSS_REASONS, LeaseLostError, type LeaseLossReason } from './lease/lease-lost.error.js';

export type * from './broker/broker.js';
export type * from './format/records.js';
export { BrokerError, ServerClosedError } from './broker/broker.errors.js';
export { MemoryBroker, type MemoryServer } from './broker/memory-broker.js';
export { RedisBroker, type RedisBrokerOptions } from './broker/redis/redis-broker.js';
export type { ClusterConnection, RedisClientLike, RedisConnection, SingleOptions } from './broker/redis/connection.js';

export { systemClock, type Clock, type ClockTimer } from './time/clock.js';
export { TimeLimitError } from './time/limit.js';
export { HeartbeatError, type HeartbeatErrorCode } from './errors.js';
