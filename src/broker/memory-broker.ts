import { systemClock, type Clock } from '../time/clock.js';
import { ServerClosedError } from './broker.errors.js';
import type { Broker, CallOptions, Grant, ReleaseMode, Renewal, ServerState, StoreMoment } from './broker.js';
import type { ServerIdentity, ServerInfo, WorkerInfo } from '../format/records.js';
import { scoreAfter } from './scores.js';

/** A server as a {@link MemoryBroker} holds it. */
export interface MemoryServer {
  readonly server: ServerInfo;
  readonly workers: readonly WorkerInfo[];
  /** Epoch milliseconds of the broker's clock. */
  readonly expiresAt: number;
}

/**
 * A broker that is its own store: for tests, demos and development without Redis. It keeps to the same contract, whole
 * seconds and all. Share one instance to let several servers see each other; it holds nothing beyond the process.
 */
export class MemoryBroker implements Broker {
  readonly #clock: Clock;
  readonly #servers = new Map<string, MemoryServer>();
  readonly #cleared = new Set<string>();
  /** Per queue, task ids with the whole seconds at which their lease runs out. */
  readonly #leases = new Map<string, Map<string, number>>();

  /** @param clock what the store takes for its own clock; the system's when left out. */
  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async writeState({ server, workers, ttl }: ServerState, options: CallOptions = {}): Promise<StoreMoment> {
    options.signal?.throwIfAborted();
    if (this.#cleared.has(server.serverId)) throw new ServerClosedError(`server ${server.serverId} was cleared`);
    const storeNow = this.#clock.now();
    this.#servers.set(server.serverId, { server, workers: workers.map(copyOf), expiresAt: storeNow + ttl });
    return { storeNow };
  }

  async renew(queue: string, ids: readonly string[], duration: number, options: CallOptions = {}): Promise<Renewal> {
    options.signal?.throwIfAborted();
    const storeNow = this.#clock.now();
    const leases = this.#leases.get(queue) ?? new Map<string, number>();
    const held = ids.filter((id) => leases.has(id));
    const score = Math.max(scoreAfter(storeNow, duration), ...held.map((id) => leases.get(id) ?? 0));
    for (const id of held) leases.set(id, score);
    return { storeNow, expiresAt: score * 1000, gone: ids.filter((id) => !leases.has(id)) };
  }

  async acquire(queue: string, id: string, duration: number, options: CallOptions = {}): Promise<Grant | undefined> {
    options.signal?.throwIfAborted();
    const storeNow = this.#clock.now();
    const held = this.#leases.get(queue)?.get(id);
    if (held !== undefined && storeNow <= held * 1000) return undefined;
    const score = scoreAfter(storeNow, duration);
    this.#set(queue, id, score);
    return { storeNow, expiresAt: score * 1000 };
  }

  async release(
    queue: string,
    id: string,
    expiresAt: number,
    mode: ReleaseMode,
    options: CallOptions = {},
  ): Promise<boolean> {
    options.signal?.throwIfAborted();
    const held = this.#leases.get(queue)?.get(id);
    if (held === undefined || held * 1000 > expiresAt) return false;
    if (mode === 'expire') this.#set(queue, id, Math.min(held, scoreAfter(this.#clock.now(), 0)));
    else this.#leases.get(queue)?.delete(id);
    return true;
  }

  async clear(server: ServerIdentity): Promise<void> {
    this.#cleared.add(server.serverId);
    this.#servers.delete(server.serverId);
  }

  /** Keeps everything: other servers may share this store. */
  async close(): Promise<void> {
    // Nothing was opened.
  }

  /** The servers whose record has not run out. */
  servers(): MemoryServer[] {
    const now = this.#clock.now();
    return [...this.#servers.values()].filter((server) => server.expiresAt >= now);
  }

  /** The leases of a queue: task id → epoch milliseconds at which the lease runs out, those that did included. */
  leases(queue: string): ReadonlyMap<string, number> {
    return new Map([...(this.#leases.get(queue) ?? [])].map(([id, score]) => [id, score * 1000]));
  }

  /** Puts a lease into the store as whoever claims a task from its queue does; in whole seconds, rounded down. */
  claim(queue: string, id: string, duration: number): Grant {
    const storeNow = this.#clock.now();
    const score = scoreAfter(storeNow, duration);
    this.#set(queue, id, score);
    return { storeNow, expiresAt: score * 1000 };
  }

  /** Takes a lease out of the store behind the back of whoever holds it. */
  drop(queue: string, id: string): void {
    this.#leases.get(queue)?.delete(id);
  }

  #set(queue: string, id: string, score: number): void {
    const leases = this.#leases.get(queue) ?? new Map<string, number>();
    this.#leases.set(queue, leases.set(id, score));
  }
}

function copyOf({ id, type, queue, payload, startedAt, deadline }: WorkerInfo): WorkerInfo {
  return { id, type, queue, payload, startedAt, deadline };
}
