import { messageOf } from '../../errors.js';
import { leaseKey, SERVERS_KEY, taskKeyPrefix, WORKERS_KEY } from '../../format/keys.js';
import type { Log } from '../../log.js';
import type { Clock } from '../../time/clock.js';
import { scoreAfter } from '../scores.js';
import type { RedisLink } from './link.js';
import { PRUNE_LEASES } from './scripts.js';

/**
 * Removes what dead servers have left behind: a server that was killed clears nothing, and index entries have no expiry
 * of their own.
 */
export class Pruning {
  private static readonly EVERY_MS = 10 * 60_000;
  private static readonly LEASES_AT_ONCE = 1000;

  readonly #queues = new Set<string>();
  #next = 0;

  /** @param age milliseconds for which an entry must have been dead; 0 to remove none. */
  constructor(
    private readonly link: RedisLink,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly age: number,
  ) {}

  /** Exclusive tasks are run on this queue: their leases may be left behind. */
  include(queue: string): void {
    if (this.age > 0) this.#queues.add(queue);
  }

  /** Prunes if it is time to. Never rejects: what could not be removed now is removed another time. */
  async now(storeNow: number, queues: Iterable<string>, signal: AbortSignal): Promise<void> {
    if (this.age === 0 || this.clock.steady() < this.#next) return;
    this.#next = this.clock.steady() + Pruning.EVERY_MS;
    const before = scoreAfter(storeNow, -this.age);
    const { link } = this;
    const removals = [SERVERS_KEY, WORKERS_KEY].map((key) =>
      link.send(signal, ['ZREMRANGEBYSCORE', key, '-inf', `(${String(before)}`]),
    );
    for (const queue of new Set([...queues, ...this.#queues])) {
      const limit = Pruning.LEASES_AT_ONCE;
      removals.push(link.send(signal, ['EVAL', PRUNE_LEASES, 1, leaseKey(queue), before, taskKeyPrefix(queue), limit]));
    }
    for (const result of await Promise.allSettled(removals)) {
      if (result.status === 'rejected') this.log.debug(`Pruning failed: ${messageOf(result.reason)}`);
    }
  }
}
