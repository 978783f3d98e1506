import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Child, endChild, hasEnded, killChild, spawnTied } from './child.js';
import { freePort } from './ports.js';
import { redisBinary } from './redis-binary.js';
import { probeRedis } from './redis-probe.js';

export interface RedisServerOptions {
  /** More arguments for redis-server, after ours and so stronger: `['--appendonly', 'yes']`. */
  args?: string[];
  /** Where it keeps its files; stays when it was given. @default a temporary folder, removed by stop() */
  dir?: string;
  /** @default a free one */
  port?: number;
  /** Listen on a Unix socket too: see socketPath. @default false */
  unixSocket?: boolean;
}

const START_TIMEOUT_MS = 10_000;
const STOP_GRACE_MS = 3_000;
const PORT_ATTEMPTS = 5;

class PortTakenError extends Error {}

/** A real Redis of a test's own, on the loopback; it ends with the test process. */
export class RedisServer {
  readonly port: number;
  readonly dir: string;
  /** Only with the unixSocket option. */
  readonly socketPath: string | undefined;
  private child: Child | undefined;

  private constructor(
    port: number,
    dir: string,
    private readonly options: RedisServerOptions,
  ) {
    this.port = port;
    this.dir = dir;
    this.socketPath = options.unixSocket === true ? join(dir, 'redis.sock') : undefined;
  }

  /** Starts a server and waits until it answers. */
  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'redis-test-')));
    try {
      return await RedisServer.startOnFreePort(dir, options);
    } catch (error) {
      if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  /** Tries again when another process took the port between our look and Redis' own. */
  private static async startOnFreePort(dir: string, options: RedisServerOptions): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(options.port ?? (await freePort()), dir, options);
      try {
        await server.launch();
        return server;
      } catch (error) {
        const isWorthAnother = error instanceof PortTakenError && options.port === undefined && attempt < PORT_ATTEMPTS;
        if (!isWorthAnother) throw error;
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${String(this.port)}`;
  }

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error('Redis was not started');
    return pid;
  }

  get isRunning(): boolean {
    return this.child !== undefined && !hasEnded(this.child);
  }

  /** Ends the server in order, or by force after 3 s, and removes its temporary folder. */
  async stop(): Promise<void> {
    if (this.child !== undefined) {
      this.thaw();
      await endChild(this.child, STOP_GRACE_MS);
    }
    if (this.options.dir === undefined) await rm(this.dir, { recursive: true, force: true });
  }

  /** SIGKILL: like a crash. The folder stays, for restart(). */
  async kill(): Promise<void> {
    if (this.child !== undefined) await killChild(this.child);
  }

  /** Starts it again with the same port, folder and arguments; ends it in order first when it still runs. */
  async restart(): Promise<void> {
    if (this.child !== undefined) {
      this.thaw();
      await endChild(this.child, STOP_GRACE_MS);
    }
    await this.launch();
  }

  /** SIGSTOP: connections stay open and are accepted, nothing is answered. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  /** SIGCONT: ends a freeze(). */
  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  /** Sends one command on a connection of its own; the reply as text, an array as one line per element. */
  async cli(...command: [name: string, ...args: (string | number)[]]): Promise<string> {
    return RedisServer.ask(this.port, ...command);
  }

  /** cli() of whatever speaks Redis' protocol on a port of the loopback, a Sentinel for example. */
  static async ask(port: number, ...command: [name: string, ...args: (string | number)[]]): Promise<string> {
    const client = new Redis({
      host: '127.0.0.1',
      port,
      lazyConnect: true,
      enableReadyCheck: false,
      retryStrategy: () => null,
      commandTimeout: 10_000,
    });
    // Every failure reaches the caller through the promises below.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return asText(await client.call(...command));
    } finally {
      client.disconnect();
    }
  }

  private async launch(): Promise<void> {
    const { path, env } = await redisBinary('redis-server');
    const child = spawnTied(path, this.commandLine(), { env, cwd: this.dir });
    this.child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        // Read to the end so that the pipe never fills up, but only the start of it explains a failed start.
        if (output.length < 10_000) output += text;
      });
    }
    const failure = await this.waitUntilReady(child);
    if (failure === undefined) return;
    await killChild(child);
    const message = `redis-server on port ${String(this.port)} ${failure}:\n${output.trim()}`;
    throw output.includes('Address already in use') ? new PortTakenError(message) : new Error(message);
  }

  private commandLine(): string[] {
    const listening = ['--port', String(this.port), '--bind', '127.0.0.1'];
    const socket = this.socketPath === undefined ? [] : ['--unixsocket', this.socketPath];
    const storage = ['--save', '', '--appendonly', 'no', '--dir', this.dir];
    return [...listening, ...socket, ...storage, ...(this.options.args ?? [])];
  }

  /** What went wrong, or undefined when the server answers. */
  private async waitUntilReady(child: Child): Promise<string | undefined> {
    let spawnError: Error | undefined;
    child.once('error', (error) => (spawnError = error));
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (performance.now() < deadline) {
      if (spawnError !== undefined) return `cannot be run (${spawnError.message})`;
      if (hasEnded(child)) return 'ended at once';
      if (await probeRedis(this.port, child.pid)) return undefined;
      await sleep(15);
    }
    return `did not answer within ${String(START_TIMEOUT_MS)} ms`;
  }
}

function asText(reply: unknown): string {
  if (Array.isArray(reply)) return reply.map(asText).join('\n');
  return typeof reply === 'string' || typeof reply === 'number' ? String(reply) : '';
}
