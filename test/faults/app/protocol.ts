import type { HeartbeatModuleOptions } from '../../../src/index.js';

/** How the app is set up, in its environment under {@link SETUP_VARIABLE}. */
export interface AppSetup {
  /** Port of the loopback on which the test listens for the app. */
  readonly control: number;
  readonly heartbeat: Omit<HeartbeatModuleOptions, 'broker'>;
  /** Hand over a client of the app's own instead of the connection, which is a URL then. */
  readonly ownClient: boolean;
}

export const SETUP_VARIABLE = 'FAULTS_APP';

/** What the test asks of the app: one line of JSON each. */
export type Command =
  | { readonly do: 'start'; readonly id: string; readonly queue: string; readonly leaseUntil: number }
  | { readonly do: 'finish'; readonly ids: readonly string[] }
  /** Hold the event loop. */
  | { readonly do: 'block'; readonly ms: number }
  | { readonly do: 'close' }
  | { readonly do: 'closeOwnClient' };

/** What the app tells, each with the {@link moment} at which it was so. */
export type Report = { readonly at: number } & Event;

export type Event =
  | { readonly is: 'up'; readonly serverKey: string; readonly workersKey: string }
  /** The signal of a task was aborted. */
  | { readonly is: 'told'; readonly id: string; readonly reason: string }
  /** The event for a lost lease was emitted. */
  | { readonly is: 'lost'; readonly id: string; readonly reason: string }
  /** `track()` has settled: with the work's own result, or with the code of an error. */
  | { readonly is: 'ended'; readonly id: string; readonly outcome: string; readonly lastValidAt: number }
  | { readonly is: 'beat'; readonly ok: boolean; readonly errors: readonly string[] }
  /** The event loop was free again, after it had not been since `from`. */
  | { readonly is: 'stalled'; readonly from: number }
  /** The loop was held; which leases said that they were valid, asked in the same turn. */
  | { readonly is: 'blocked'; readonly from: number; readonly valid: readonly string[] }
  | { readonly is: 'draining' }
  | { readonly is: 'cleared'; readonly error: string | undefined }
  | { readonly is: 'closing' }
  | { readonly is: 'closed' }
  /** Something reached the handlers of the process that should have been handled elsewhere. */
  | { readonly is: 'unhandled'; readonly what: string };
