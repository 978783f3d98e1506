/** All that the table shows, as it is at one moment. Times in milliseconds. */
export interface Snapshot {
  readonly title: string;
  readonly elapsed: number;
  readonly servers: readonly ServerView[];
  readonly tasks: readonly TaskView[];
  readonly slotsPerServer: number;
  readonly store: StoreView;
  readonly progress: ProgressView;
  readonly phase: Phase;
  /** How it ended, once it has. */
  readonly result: string | undefined;
}

/** What the demo is about: making checksums, ending in order, or over. */
export type Phase = 'running' | 'draining' | 'ended';

export interface ServerView {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly status: string;
  readonly healthy: boolean;
  readonly active: number;
  readonly concurrency: number;
  readonly sinceBeat: number | undefined;
  readonly beats: number;
  readonly done: number;
  /** Files left to another server that held their lease. */
  readonly held: number;
}

export interface TaskView {
  readonly server: string;
  readonly slot: number;
  readonly id: string;
  readonly queue: string;
  readonly elapsed: number;
  /** How long the lease is valid if it is not renewed. */
  readonly lease: number | undefined;
  readonly overdue: boolean;
  /** From 0 to 1. */
  readonly fraction: number;
}

export interface StoreView {
  readonly name: string;
  /** Undefined when it does not answer. */
  readonly holds: Holdings | undefined;
}

/** What everybody can see in the store. */
export interface Holdings {
  readonly servers: number;
  readonly workers: number;
  readonly leases: number;
}

export interface ProgressView {
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  readonly bytes: number;
}
