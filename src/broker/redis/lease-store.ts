import { leaseKey } from '../../format/keys.js';
import type { Clock } from '../../time/clock.js';
import type { Grant, ReleaseMode, Renewal } from '../broker.js';
import { scoreAfter } from '../scores.js';
import { chunksOf } from './chunks.js';
import type { RedisLink } from './link.js';
import { ACQUIRE, RELEASE } from './scripts.js';
import type { StoreClock } from './store-clock.js';

/** The leases of tasks: one sorted set a queue, scored by the second in which each lease runs out. */
export class LeaseStore {
  /** One command of 20,000 arguments holds our event loop for 5 ms, one of 2,000 for half of one. */
  private static readonly IDS_PER_COMMAND = 1000;

  /** Per queue, the latest score written: a step back of the store's clock moves no lease back. */
  readonly #latest = new Map<string, number>();

  constructor(
    private readonly link: RedisLink,
    private readonly storeClock: StoreClock,
    private readonly clock: Clock,
  ) {}

  async renew(queue: string, ids: readonly string[], duration: number, signal: AbortSignal): Promise<Renewal> {
    const key = leaseKey(queue);
    await this.link.ready(signal);
    const storeNow = await this.storeClock.now(key, signal);
    const score = Math.max(scoreAfter(storeNow, duration), this.#latest.get(queue) ?? 0);
    this.#latest.set(queue, score);
    const chunks = chunksOf(ids, LeaseStore.IDS_PER_COMMAND);
    const changed = await Promise.all(
      chunks.map((chunk) => this.link.send(signal, ['ZADD', key, 'XX', 'CH', ...chunk.flatMap((id) => [score, id])])),
    );
    // XX adds nothing and CH counts what moved: as many as were named means that all are there. Only where it is less
    // does one have to look which are gone, and which had that very score.
    const doubtful = chunks.filter((chunk, index) => Number(changed[index]) < chunk.length).flat();
    return { storeNow, expiresAt: score * 1000, gone: await this.#missing(key, doubtful, signal) };
  }

  async acquire(queue: string, id: string, duration: number, signal: AbortSignal): Promise<Grant | undefined> {
    await this.link.ready(signal);
    const reply = await this.link.send(signal, ['EVAL', ACQUIRE, 1, leaseKey(queue), id, duration, this.clock.now()]);
    const [granted, storeNow, score] = Array.isArray(reply) ? reply.map(Number) : [];
    if (granted !== 1) return undefined;
    return { storeNow: Number(storeNow), expiresAt: Number(score) * 1000 };
  }

  async release(
    queue: string,
    id: string,
    expiresAt: number,
    mode: ReleaseMode,
    signal: AbortSignal,
  ): Promise<boolean> {
    const key = leaseKey(queue);
    await this.link.ready(signal);
    const left = mode === 'remove' ? '' : scoreAfter(await this.storeClock.now(key, signal), 0);
    const ours = Math.floor(expiresAt / 1000);
    return (await this.link.send(signal, ['EVAL', RELEASE, 1, key, id, ours, left])) === 1;
  }

  async #missing(key: string, ids: readonly string[], signal: AbortSignal): Promise<string[]> {
    const scores = await Promise.all(ids.map((id) => this.link.send(signal, ['ZSCORE', key, id])));
    return ids.filter((_, index) => scores[index] === null);
  }
}
