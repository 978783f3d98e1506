import { messageOf } from '../../errors.js';
import type { Log } from '../../log.js';
import type { Clock } from '../../time/clock.js';
import type { RedisLink } from './link.js';

interface Sample {
  /** Epoch milliseconds of the store's clock. */
  readonly storeMs: number;
  /** Steady time before the store was asked. */
  readonly askedAt: number;
}

/** On a cluster each node has a clock of its own: a script with the key goes to the node that holds it. */
const TIME_OF_KEY = "return redis.call('TIME')";

/**
 * The store's own clock, so that a wrong one here neither loses nor steals a task. What it says is never behind the
 * store: the time a question took counts as gone by.
 */
export class StoreClock {
  /** An answer serves all calls of one beat; a step of the store's clock is not overlooked for longer. */
  private static readonly FRESH_MS = 250;

  /** Per node, the last answer or the one that is awaited. */
  readonly #samples = new Map<string, Promise<Sample>>();
  #forbidden = false;

  constructor(
    private readonly link: RedisLink,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** Epoch milliseconds by the clock of the node that holds `key`; by this machine's where Redis does not tell its own. */
  async now(key: string, signal: AbortSignal): Promise<number> {
    const { storeMs, askedAt } = await this.#recent(this.link.isCluster ? key : '', signal);
    return storeMs + (this.clock.steady() - askedAt);
  }

  async #recent(node: string, signal: AbortSignal): Promise<Sample> {
    const known = this.#samples.get(node);
    const sample = known && (await known.catch(() => undefined));
    if (sample && this.clock.steady() - sample.askedAt < StoreClock.FRESH_MS) return sample;
    // Of several that find the answer too old, one asks for all.
    const asked = this.#samples.get(node);
    return asked && asked !== known ? asked : this.#ask(node, signal);
  }

  #ask(node: string, signal: AbortSignal): Promise<Sample> {
    const asked = this.#sample(node, signal);
    this.#samples.set(node, asked);
    asked.catch(() => this.#samples.delete(node));
    return asked;
  }

  async #sample(node: string, signal: AbortSignal): Promise<Sample> {
    const askedAt = this.clock.steady();
    if (this.#forbidden) return { storeMs: this.clock.now(), askedAt };
    try {
      const reply = await this.link.send(signal, node === '' ? ['TIME'] : ['EVAL', TIME_OF_KEY, 1, node]);
      return { storeMs: millisecondsOf(reply), askedAt };
    } catch (error) {
      if (!/^NOPERM|unknown command/i.test(messageOf(error))) throw error;
      this.#forbid(messageOf(error));
      return { storeMs: this.clock.now(), askedAt: this.clock.steady() };
    }
  }

  #forbid(why: string): void {
    if (this.#forbidden) return;
    this.#forbidden = true;
    this.log.warn(
      `Redis does not let this user ask for its TIME (${why}). This machine's clock is used instead: ` +
        'keep it in step with the others, or allow the command with "ACL SETUSER <user> +time".',
    );
  }
}

function millisecondsOf(reply: unknown): number {
  const [seconds, microseconds] = Array.isArray(reply) ? reply.map(Number) : [];
  const ms = Number(seconds) * 1000 + Number(microseconds) / 1000;
  if (!Number.isFinite(ms)) throw new Error('Redis answered TIME with something else');
  return ms;
}
