import type { ReleaseMode } from '../broker/broker.js';
import type { Lease, LeaseHolder } from '../lease/lease.js';
import type { LeaseLossReason } from '../lease/lease-lost.error.js';
import type { WorkerInfo } from '../format/records.js';

/** Whoever wants to know what becomes of runs. */
export interface RunObserver {
  /** A run lost its lease while it was active. */
  leaseLost(run: Run, reason: LeaseLossReason): void;
}

/** One run of a task on one worker: the same task taken again is another run. */
export class Run implements LeaseHolder, WorkerInfo {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly payload: Uint8Array | string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds. */
  readonly deadline: number | undefined;
  readonly lease: Lease;
  /** Counted up with each run of this server. */
  readonly ordinal: number;
  /** How the lease is to be given back, if it stands in the store, and so is to be renewed there; else undefined. */
  readonly leased: ReleaseMode | undefined;
  /** When the store last said that the lease runs out, in its own epoch milliseconds. */
  expiresAt: number | undefined;
  /** When it may run out at the latest, if a renewal went unanswered, which the store may or may not have heard. */
  mayExpireAt: number | undefined;
  /** The run of the same task that was active before this one, if it still is. */
  older: Run | undefined;
  active = true;

  readonly #observer: RunObserver;

  constructor(
    facts: Pick<Run, 'id' | 'type' | 'queue' | 'payload' | 'ordinal' | 'startedAt' | 'deadline' | 'lease' | 'leased'>,
    observer: RunObserver,
  ) {
    this.id = facts.id;
    this.type = facts.type;
    this.queue = facts.queue;
    this.payload = facts.payload;
    this.ordinal = facts.ordinal;
    this.startedAt = facts.startedAt;
    this.deadline = facts.deadline;
    this.lease = facts.lease;
    this.leased = facts.leased;
    this.#observer = observer;
  }

  /** Whether the work goes on although it has lost its lease. */
  get overdue(): boolean {
    return this.active && !this.lease.isValid;
  }

  /** The latest moment at which a lease in the store that runs out then is this run's; undefined when it is not known. */
  get oursUntil(): number | undefined {
    // Who has lost the lease may find another's in its place.
    if (this.lease.reason !== undefined && this.lease.reason !== 'shutdown') return this.expiresAt;
    return this.mayExpireAt ?? this.expiresAt;
  }

  leaseLost(reason: LeaseLossReason): void {
    if (this.active) this.#observer.leaseLost(this, reason);
  }
}
