import type { ServerIdentity, ServerInfo, WorkerInfo } from '../format/records.js';

/** All that a server says of itself at one moment. */
export interface ServerState {
  readonly server: ServerInfo;
  readonly workers: readonly WorkerInfo[];
  /** For how many milliseconds it counts. */
  readonly ttl: number;
}

/** A moment of the store's own clock, taken while the call was under way; epoch milliseconds. */
export interface StoreMoment {
  readonly storeNow: number;
}

export interface Renewal extends StoreMoment {
  /** When the renewed leases run out by the store's clock; epoch milliseconds. */
  readonly expiresAt: number;
  /** The ids that the store holds no lease for: nothing was renewed for them. */
  readonly gone: readonly string[];
}

export interface Grant extends StoreMoment {
  /** When the lease runs out by the store's clock; epoch milliseconds. */
  readonly expiresAt: number;
}

/** What is to be left in the store when a lease is given back. */
export type ReleaseMode =
  /** Nothing: the lease is removed. For leases that were acquired here. */
  | 'remove'
  /** A lease that has run out just now, so that whoever recovers orphaned tasks finds it. For tasks claimed from a queue. */
  | 'expire';

export interface CallOptions {
  /** When it aborts, the call rejects and sends nothing more. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What the heartbeat needs from a store. A broker decides how to ship what it is told; it never throws synchronously,
 * and rejects with an error that says what was wrong.
 */
export interface Broker {
  /** Makes the store say what is: this server, all of its workers, for `ttl`. Refused once the server was cleared. */
  writeState(state: ServerState, options?: CallOptions): Promise<StoreMoment>;

  /**
   * Renews leases that exist, for `duration` milliseconds from the store's now; it never creates one, and never moves
   * one before what was last written here.
   */
  renew(queue: string, ids: readonly string[], duration: number, options?: CallOptions): Promise<Renewal>;

  /** Takes the lease of one id for `duration` milliseconds; undefined when somebody holds it by the store's clock. */
  acquire(queue: string, id: string, duration: number, options?: CallOptions): Promise<Grant | undefined>;

  /**
   * Gives a lease back, if it is still ours: if the store has it run out no later than `expiresAt`, the store's epoch
   * milliseconds that were last told here. Whether it was.
   */
  release(queue: string, id: string, expiresAt: number, mode: ReleaseMode, options?: CallOptions): Promise<boolean>;

  /** Removes all that {@link writeState} wrote of this server. All parts are tried, even if one fails. */
  clear(server: ServerIdentity, options?: CallOptions): Promise<void>;

  /** Lets go of what the broker itself opened; later calls reject. Never rejects. */
  close(): Promise<void>;
}
