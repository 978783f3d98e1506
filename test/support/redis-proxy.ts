import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Lane, type Parcel } from './lane.js';
import { moment } from './moments.js';
import { RespFrames, wordsOf } from './resp-frames.js';

interface Request extends Parcel {
  readonly words: readonly string[];
}

interface Reply extends Parcel {
  readonly command: string;
}

/** Told of each command before it goes to Redis, which it does once the answer has resolved. */
export type Gatekeeper = (words: readonly string[]) => Promise<void> | void;

/** A bad line to a Redis, on the loopback: it can be slow, silent and cut, and tell another time than Redis does. */
export class RedisProxy {
  /** The longest time, in milliseconds, for which a command was held before Redis got it. */
  longestHold = 0;
  /** By how many milliseconds Redis' clock seems to be ahead of what it is. */
  timeShift = 0;
  /** For how many milliseconds each reply is kept. */
  replyDelay = 0;
  /** Whether connections are closed as soon as they are made. */
  isRefusing = false;
  gatekeeper: Gatekeeper | undefined;

  readonly #links = new Set<Link>();
  #silence: Promise<void> | undefined;
  #endSilence: () => void = () => undefined;

  private constructor(
    private readonly server: Server,
    /** Where Redis is; may be changed for connections to come. */
    readonly target: number,
  ) {
    server.on('connection', (client) => {
      if (this.isRefusing) client.resetAndDestroy();
      else this.#links.add(new Link(client, this, (link) => this.#links.delete(link)));
    });
  }

  static async start(target: number): Promise<RedisProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RedisProxy(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${String(this.port)}`;
  }

  /** Like a network that drops all packets: connections are there, and nothing passes until {@link heal}. */
  blackHole(): void {
    this.#silence ??= new Promise((resolve) => (this.#endSilence = resolve));
  }

  /** What was sent meanwhile arrives now, as the packets that a network sends again, unless its connection is gone. */
  heal(): void {
    this.#silence = undefined;
    this.#endSilence();
  }

  /** Resets all connections. */
  cut(): void {
    for (const link of this.#links) link.close();
  }

  async close(): Promise<void> {
    this.heal();
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** @internal */
  async admit({ words }: Partial<Request>): Promise<void> {
    await this.#silence;
    if (words) await this.gatekeeper?.(words);
  }

  /** @internal */
  noteDelivery({ cameAt }: Request): void {
    this.longestHold = Math.max(this.longestHold, moment() - cameAt);
  }
}

/** One connection through the proxy. */
class Link {
  readonly #upstream: Socket;
  readonly #asked: string[] = [];
  readonly #lanes: readonly { close(): void }[];

  constructor(
    private readonly client: Socket,
    proxy: RedisProxy,
    private readonly closed: (link: Link) => void,
  ) {
    const upstream = (this.#upstream = connect(proxy.target, '127.0.0.1'));
    const requests = new Lane<Request>(
      () => 0,
      (request) => proxy.admit(request),
      (request) => {
        proxy.noteDelivery(request);
        this.#asked.push(request.words[0]?.toUpperCase() ?? '');
        upstream.write(request.bytes);
      },
    );
    const replies = new Lane<Reply>(
      () => proxy.replyDelay,
      () => proxy.admit({}),
      ({ bytes, command }) => client.write(command === 'TIME' ? shifted(bytes, proxy.timeShift) : bytes),
    );
    this.#lanes = [requests, replies];
    const commands = new RespFrames();
    client.on('data', (chunk) => {
      for (const bytes of commands.push(chunk)) requests.push({ bytes, words: wordsOf(bytes), cameAt: moment() });
    });
    const answers = new RespFrames();
    upstream.on('data', (chunk) => {
      for (const bytes of answers.push(chunk)) {
        replies.push({ bytes, command: this.#asked.shift() ?? '', cameAt: moment() });
      }
    });
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.close();
      });
    }
  }

  close(): void {
    for (const lane of this.#lanes) lane.close();
    for (const socket of [this.client, this.#upstream]) if (!socket.destroyed) socket.resetAndDestroy();
    this.closed(this);
  }
}

/** A reply to TIME, moved. */
function shifted(reply: Buffer, ms: number): Buffer {
  const [seconds, microseconds] = wordsOf(reply).map(Number);
  if (ms === 0 || seconds === undefined || microseconds === undefined) return reply;
  const words = [String(seconds + Math.round(ms / 1000)), String(microseconds)];
  return Buffer.from(`*2\r\n${words.map((word) => `$${String(word.length)}\r\n${word}\r\n`).join('')}`);
}
