import { messageOf } from '../../errors.js';
import type { Log } from '../../log.js';
import type { RedisLink } from './link.js';

/** Warns, once, of a Redis that may drop leases and records when its memory is full. */
export class EvictionPolicy {
  #checked = false;

  constructor(
    private readonly link: RedisLink,
    private readonly log: Log,
  ) {}

  /** Never rejects: a user that may not ask is not told. */
  async check(signal: AbortSignal): Promise<void> {
    if (this.#checked) return;
    try {
      const answers = await this.link.sendToEach(signal, ['INFO', 'memory']);
      this.#checked = true;
      const policies = answers.map((answer) => /^maxmemory_policy:(\S+)/m.exec(String(answer))?.[1]);
      const harmful = policies.find((policy) => policy !== undefined && policy !== 'noeviction');
      if (harmful === undefined) return;
      this.log.warn(
        `Redis has maxmemory-policy "${harmful}": when its memory is full it may drop leases, and tasks are run twice. ` +
          'Set it to "noeviction" ("CONFIG SET maxmemory-policy noeviction", and in redis.conf), or use a Redis of its own.',
      );
    } catch (error) {
      this.#checked = messageOf(error).startsWith('NOPERM');
      this.log.debug(`The eviction policy is not known: ${messageOf(error)}`);
    }
  }
}
