import type { ServerIdentity } from './format/records.js';
import type { BeatHistory } from './beat/beat-loop.js';
import type { LeaseLossReason } from './lease/lease-lost.error.js';
import type { Lease } from './lease/lease.js';
import type { TaskFinish, TaskRef, TaskStart } from './task/task.js';

/** In: a worker has taken up a task. Payload: {@link WorkerStartingEvent}. */
export const WORKER_STARTING = 'heartbeat.worker.starting';
/** In: a worker has finished a task, well or badly. Payload: {@link WorkerFinishedEvent}. */
export const WORKER_FINISHED = 'heartbeat.worker.finished';

/** Out: a beat succeeded. Payload: {@link BeatEvent}. */
export const BEAT = 'heartbeat.beat';
/** Out: a beat failed; it will be tried again. Payload: {@link BeatFailedEvent}. */
export const BEAT_FAILED = 'heartbeat.beat.failed';
/** Out: the first beat after some that failed. Payload: {@link BeatRecoveredEvent}. */
export const BEAT_RECOVERED = 'heartbeat.beat.recovered';
/** Out: an active task lost its lease. Payload: {@link LeaseLostEvent}. */
export const LEASE_LOST = 'heartbeat.lease.lost';
/** Out: the shutdown has begun; take no new tasks. Payload: {@link ServerDrainingEvent}. */
export const SERVER_DRAINING = 'heartbeat.server.draining';
/** Out: nothing of this server is left in the store. Payload: {@link ServerClearedEvent}. */
export const SERVER_CLEARED = 'heartbeat.server.cleared';

export type WorkerStartingEvent = TaskStart;
export type WorkerFinishedEvent = TaskFinish;

export type BeatEvent = ServerIdentity & BeatHistory;
export type BeatFailedEvent = ServerIdentity & BeatHistory;

export interface BeatRecoveredEvent extends ServerIdentity, BeatHistory {
  /** Milliseconds since the first beat that failed. */
  readonly outage: number;
}

export interface LeaseLostEvent extends ServerIdentity {
  readonly task: TaskRef & { readonly type: string };
  readonly reason: LeaseLossReason;
  readonly lease: Lease;
}

export interface ServerDrainingEvent extends ServerIdentity {
  /** Tasks that are still active. */
  readonly activeTasks: number;
}

export interface ServerClearedEvent extends ServerIdentity {
  /** What kept the store from being cleared; its records run out by themselves then. */
  readonly error?: Error;
}

/** The events that this module emits, by name. */
export interface HeartbeatEventPayloads {
  [BEAT]: BeatEvent;
  [BEAT_FAILED]: BeatFailedEvent;
  [BEAT_RECOVERED]: BeatRecoveredEvent;
  [LEASE_LOST]: LeaseLostEvent;
  [SERVER_DRAINING]: ServerDrainingEvent;
  [SERVER_CLEARED]: ServerClearedEvent;
}
