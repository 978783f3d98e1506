import type { Log } from '../../log.js';
import { silentLog } from '../../log.js';
import { systemClock, type Clock } from '../../time/clock.js';
import { Limit } from '../../time/limit.js';
import { BrokerError, ServerClosedError } from '../broker.errors.js';
import type { Broker, CallOptions, Grant, ReleaseMode, Renewal, ServerState, StoreMoment } from '../broker.js';
import type { ServerIdentity } from '../../format/records.js';
import type { RedisConnection } from './connection.js';
import { EvictionPolicy } from './eviction-policy.js';
import { LeaseStore } from './lease-store.js';
import { RedisLink } from './link.js';
import { Pruning } from './pruning.js';
import { ServerRecord } from './server-record.js';
import { StoreClock } from './store-clock.js';

export interface RedisBrokerOptions {
  readonly connection: RedisConnection;
  /** Milliseconds after which a call has failed that was given no signal; 2,000 when left out. */
  readonly timeout?: number | undefined;
  /** Milliseconds after which what dead servers have left behind is removed; an hour when left out, 0 for never. */
  readonly pruneAfter?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
}

/**
 * Speaks asynq's format with Redis, over a connection of its own that is opened by the first call. It is the default
 * broker, and the token under which the broker is provided: override it in tests.
 */
export class RedisBroker implements Broker {
  readonly #link: RedisLink;
  readonly #storeClock: StoreClock;
  readonly #leases: LeaseStore;
  readonly #pruning: Pruning;
  readonly #policy: EvictionPolicy;
  readonly #records = new Map<string, ServerRecord>();
  readonly #clock: Clock;
  readonly #timeout: number;

  constructor(options: RedisBrokerOptions) {
    const { connection, timeout = 2000, pruneAfter = 3_600_000, clock = systemClock, log = silentLog } = options;
    this.#clock = clock;
    this.#timeout = timeout;
    this.#link = new RedisLink(connection, timeout);
    this.#storeClock = new StoreClock(this.#link, clock, log);
    this.#pruning = new Pruning(this.#link, clock, log, pruneAfter);
    this.#policy = new EvictionPolicy(this.#link, log);
    this.#leases = new LeaseStore(this.#link, this.#storeClock, clock);
  }

  writeState(state: ServerState, options: CallOptions = {}): Promise<StoreMoment> {
    return this.#call('Writing the server record', options, async (signal) => {
      const written = await this.#recordOf(state.server).write(state, signal);
      await this.#policy.check(signal);
      await this.#pruning.now(written.storeNow, Object.keys(state.server.queues), signal);
      return written;
    });
  }

  renew(queue: string, ids: readonly string[], duration: number, options: CallOptions = {}): Promise<Renewal> {
    return this.#call(`Renewing ${String(ids.length)} leases of queue ${JSON.stringify(queue)}`, options, (signal) =>
      this.#leases.renew(queue, ids, duration, signal),
    );
  }

  acquire(queue: string, id: string, duration: number, options: CallOptions = {}): Promise<Grant | undefined> {
    this.#pruning.include(queue);
    return this.#call(`Acquiring the lease of ${describe(queue, id)}`, options, (signal) =>
      this.#leases.acquire(queue, id, duration, signal),
    );
  }

  release(
    queue: string,
    id: string,
    expiresAt: number,
    mode: ReleaseMode,
    options: CallOptions = {},
  ): Promise<boolean> {
    return this.#call(`Releasing the lease of ${describe(queue, id)}`, options, (signal) =>
      this.#leases.release(queue, id, expiresAt, mode, signal),
    );
  }

  clear(server: ServerIdentity, options: CallOptions = {}): Promise<void> {
    return this.#call('Clearing the server record', options, (signal) => this.#recordOf(server).clear(server, signal));
  }

  close(): Promise<void> {
    this.#link.close();
    return Promise.resolve();
  }

  async #call<T>(doing: string, { signal }: CallOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = signal ? undefined : new Limit(this.#clock, this.#timeout);
    try {
      return await call(signal ?? (limit as Limit).signal);
    } catch (error) {
      if (error instanceof ServerClosedError) throw error;
      throw new BrokerError(doing, error);
    } finally {
      limit?.clear();
    }
  }

  #recordOf({ serverId }: ServerIdentity): ServerRecord {
    let record = this.#records.get(serverId);
    if (!record) this.#records.set(serverId, (record = new ServerRecord(this.#link, this.#storeClock)));
    return record;
  }
}

function describe(queue: string, id: string): string {
  return `task ${JSON.stringify(id)} in queue ${JSON.stringify(queue)}`;
}
