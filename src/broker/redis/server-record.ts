import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { encodeServerInfo, encodeWorkerInfo } from '../../format/codec.js';
import { SERVERS_KEY, WORKERS_KEY, serverKey, workersKey } from '../../format/keys.js';
import { ServerClosedError } from '../broker.errors.js';
import type { ServerState, StoreMoment } from '../broker.js';
import type { ServerIdentity } from '../../format/records.js';
import { scoreAfter } from '../scores.js';
import type { RedisCommand, RedisLink } from './link.js';
import type { StoreClock } from './store-clock.js';
import { WorkerLedger, type WorkerChanges } from './worker-ledger.js';

/** Workers are written in pieces small enough to hold up neither Redis nor our event loop. */
const PIECE_BYTES = 256 * 1024;
const PIECE_FIELDS = 250;

/** A server's record, the hash of its workers, and the two index entries through which readers find them. */
export class ServerRecord {
  readonly #ledger = new WorkerLedger();
  #cleared = false;

  constructor(
    private readonly link: RedisLink,
    private readonly storeClock: StoreClock,
  ) {}

  async write(state: ServerState, signal: AbortSignal): Promise<StoreMoment> {
    this.#refuseIfCleared(state.server);
    await this.link.ready(signal);
    const storeNow = await this.storeClock.now(SERVERS_KEY, signal);
    try {
      const changes = this.#ledger.changesTo(state.workers);
      const counted = await this.#write(state, changes, storeNow, signal);
      if (counted === changes.count) {
        this.#ledger.acknowledge(changes);
        return { storeNow };
      }
      // Somebody emptied or changed what we had written: a flush, an eviction, a failover to an older copy.
      this.#ledger.distrust();
      const whole = this.#ledger.changesTo(state.workers);
      await this.#write(state, whole, storeNow, signal);
      this.#ledger.acknowledge(whole);
      return { storeNow };
    } catch (error) {
      this.#ledger.distrust();
      throw error;
    }
  }

  /**
   * Tries all parts, and throws for those that failed. A write that is under way sends nothing more, and what it has
   * sent is executed before: once cleared, a record stays so.
   */
  async clear(server: ServerIdentity, signal: AbortSignal): Promise<void> {
    this.#cleared = true;
    await this.link.ready(signal);
    const parts: RedisCommand[] = [
      ['ZREM', SERVERS_KEY, serverKey(server)],
      ['ZREM', WORKERS_KEY, workersKey(server)],
      ['DEL', serverKey(server), workersKey(server)],
    ];
    const results = await Promise.allSettled(parts.map((part) => this.link.send(signal, part)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
    if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join('; '));
  }

  /** Writes the changes, and resolves with the number of workers that the store counts then. */
  async #write(state: ServerState, changes: WorkerChanges, storeNow: number, signal: AbortSignal): Promise<number> {
    const { server, workers, ttl } = state;
    this.#refuseIfCleared(server);
    const key = workersKey(server);
    const seal: RedisCommand[] = [
      ['PEXPIRE', key, ttl],
      ['HLEN', key],
    ];
    const head: RedisCommand[] = [
      ['PSETEX', serverKey(server), ttl, bufferOf(encodeServerInfo(server, workers.length))],
    ];
    if (changes.whole) head.push(['DEL', key]);
    if (changes.removed.length > 0) head.push(['HDEL', key, ...changes.removed]);

    const score = scoreAfter(storeNow, ttl);
    const index = [
      this.link.send(signal, ['ZADD', SERVERS_KEY, score, serverKey(server)]),
      this.link.send(signal, ['ZADD', WORKERS_KEY, score, key]),
    ];
    const record = async (): Promise<number> => {
      let counted = 0;
      for (const piece of pieces(server, changes)) {
        this.#refuseIfCleared(server);
        const fields: RedisCommand[] = piece.length > 0 ? [['HSET', key, ...piece]] : [];
        const replies = await this.link.transaction(signal, [...head.splice(0), ...fields, ...seal]);
        counted = Number(replies.at(-1));
        if (piece.length > 0) await yieldToLoop();
      }
      return counted;
    };
    // All have settled before a failure is told: nothing of this write can come between the next one's commands.
    const [counted, ...rest] = await Promise.allSettled([record(), ...index]);
    for (const result of [counted, ...rest]) if (result.status === 'rejected') throw result.reason;
    return (counted as PromiseFulfilledResult<number>).value;
  }

  #refuseIfCleared({ serverId }: ServerIdentity): void {
    if (this.#cleared) throw new ServerClosedError(`server ${serverId} was cleared`);
  }
}

/** Fields and values, a piece at a time; one empty piece when nothing is added. */
function* pieces(server: ServerIdentity, { added }: WorkerChanges): Generator<(string | Buffer)[]> {
  let piece: (string | Buffer)[] = [];
  let bytes = 0;
  for (const [field, worker] of added) {
    const value = bufferOf(encodeWorkerInfo(server, worker));
    piece.push(field, value);
    bytes += value.byteLength;
    if (bytes < PIECE_BYTES && piece.length < 2 * PIECE_FIELDS) continue;
    yield piece;
    piece = [];
    bytes = 0;
  }
  if (piece.length > 0 || added.length === 0) yield piece;
}

/** ioredis takes a Buffer for bytes, and would write any other Uint8Array as text. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
