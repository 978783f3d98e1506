/** Which server a record belongs to: no two starts share one, even on the same host with the same pid. */
export interface ServerIdentity {
  readonly host: string;
  readonly pid: number;
  /** A UUID, new for each start. */
  readonly serverId: string;
}

/**
 * `new` before the start, `active` while tasks are taken, `stopped` while none are, `closed` from the start of the
 * graceful shutdown until the server is cleared. The words are asynq's.
 */
export type ServerStatus = 'new' | 'active' | 'stopped' | 'closed';

export interface ServerInfo extends ServerIdentity {
  /** How many tasks the server works on at once. */
  readonly concurrency: number;
  /** The queues it takes tasks from, with their configured priorities. */
  readonly queues: Readonly<Record<string, number>>;
  /** Whether a queue is only looked at when those of higher priority are empty. */
  readonly strictPriority: boolean;
  readonly status: ServerStatus;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** A task in work. The same object stands for the same run from beat to beat. */
export interface WorkerInfo {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly payload: Uint8Array | string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds; undefined when the task has no deadline. */
  readonly deadline: number | undefined;
}
