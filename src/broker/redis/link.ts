import { abortable } from '../../time/limit.js';
import { isCluster, nodesOf, openClient, primariesOf, type OwnClient, type RedisConnection } from './connection.js';

export type Argument = string | number | Buffer;
export type RedisCommand = readonly [name: string, ...args: Argument[]];

/**
 * A broker's line to Redis: opened at the first call, kept for as long as the broker lives. What is sent is sent at
 * once or not at all, and answered within the caller's signal or given up, together with the socket it went through.
 */
export class RedisLink {
  #client: OwnClient | undefined;
  #becomingReady: Promise<void> | undefined;
  #lastError: Error | undefined;
  #closed = false;

  constructor(
    private readonly connection: RedisConnection,
    private readonly timeout: number,
  ) {}

  /** Whether keys are spread over several nodes, each with a clock of its own. */
  get isCluster(): boolean {
    return this.#client !== undefined && isCluster(this.#client);
  }

  /** Resolves once commands can be sent; rejects when they cannot, or not before the signal aborts. */
  async ready(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#closed) throw new Error('the broker is closed');
    const client = (this.#client ??= this.#open());
    if (client.status === 'ready') return;
    this.#becomingReady ??= this.#nextReady(client).finally(() => {
      this.#becomingReady = undefined;
    });
    await abortable(this.#becomingReady, signal).catch((error: unknown) => {
      throw this.#lastError ?? error;
    });
    signal.throwIfAborted();
  }

  /** Sends one command now. Call {@link ready} before. */
  async send(signal: AbortSignal, [name, ...args]: RedisCommand): Promise<unknown> {
    signal.throwIfAborted();
    return this.#answer(signal, this.#opened.call(name, ...args));
  }

  /** Sends one command to each primary, whatever its keys. */
  async sendToEach(signal: AbortSignal, [name, ...args]: RedisCommand): Promise<unknown[]> {
    signal.throwIfAborted();
    return this.#answer(signal, Promise.all(primariesOf(this.#opened).map((node) => node.call(name, ...args))));
  }

  /** Sends commands, over keys of one slot, as one transaction; resolves with their replies. */
  async transaction(signal: AbortSignal, commands: readonly RedisCommand[]): Promise<unknown[]> {
    signal.throwIfAborted();
    const transaction = this.#opened.multi();
    for (const [name, ...args] of commands) transaction.call(name, ...args);
    const replies = await this.#answer(signal, transaction.exec()).catch((error: unknown) => {
      throw refusalBehind(error);
    });
    if (!replies) throw new Error('the transaction was not executed');
    return replies.map(([error, reply]) => {
      if (error) throw error;
      return reply;
    });
  }

  close(): void {
    this.#closed = true;
    this.#client?.disconnect();
    // A connection that is dead already would be waited for, and keep the process alive meanwhile.
    for (const { stream } of this.#client ? nodesOf(this.#client) : [])
      (stream as typeof stream | undefined)?.destroy();
  }

  get #opened(): OwnClient {
    if (!this.#client || this.#closed) throw new Error('the broker is closed');
    return this.#client;
  }

  #open(): OwnClient {
    const client = openClient(this.connection, this.timeout);
    client.on('error', (error: Error) => {
      this.#lastError = error;
    });
    client.on('ready', () => {
      this.#lastError = undefined;
    });
    return client;
  }

  #nextReady(client: OwnClient): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        client.off('ready', onReady);
        client.off('close', onClose);
        settle();
      };
      const onReady = (): void => {
        done(resolve);
      };
      const onClose = (): void => {
        done(() => {
          reject(this.#lastError ?? new Error('Redis closed the connection'));
        });
      };
      client.on('ready', onReady);
      client.on('close', onClose);
      if (['wait', 'end', 'close'].includes(client.status)) {
        // Its failure is told by the events.
        client.connect().catch(() => undefined);
      }
    });
  }

  async #answer<T>(signal: AbortSignal, reply: Promise<T>): Promise<T> {
    try {
      return await abortable(reply, signal);
    } catch (error) {
      if (signal.aborted) this.#drop();
      throw error;
    }
  }

  /**
   * Gives up the sockets. What they still hold would otherwise reach Redis when the network heals, long after it was
   * true; a reset makes the kernel forget it.
   */
  #drop(): void {
    for (const { stream } of this.#client ? nodesOf(this.#client) : []) {
      if ((stream as typeof stream | undefined)?.destroyed !== false) continue;
      try {
        if ('resetAndDestroy' in stream) stream.resetAndDestroy();
      } catch {
        // Only TCP sockets can be reset.
      }
      stream.destroy();
    }
  }
}

/** Redis says only that it discards a transaction; why, it has said to the commands that it refused. */
function refusalBehind(error: unknown): unknown {
  const { previousErrors } = error as { readonly previousErrors?: readonly unknown[] };
  return previousErrors?.[0] ?? error;
}
