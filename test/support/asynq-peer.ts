import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildAsynqPeer } from './asynq-build.js';
import { type Child, endChild, hasEnded, killChild, spawnTied } from './child.js';
import { run } from './run.js';

export { buildAsynqPeer } from './asynq-build.js';

const COMMAND_TIMEOUT_MS = 30_000;
const EVENT_TIMEOUT_MS = 10_000;
/** On top of the shutdown timeout: asynq's parts look for the end once per second or so. */
const SHUTDOWN_SLACK_MS = 10_000;

/** Runs a command of test/interop/asynq, for example `['servers', '--redis', '127.0.0.1:6379']`; one value per line. */
export async function asynqPeer(args: string[]): Promise<unknown[]> {
  const output = await run(await buildAsynqPeer(), args, { timeoutMs: COMMAND_TIMEOUT_MS });
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

export interface AsynqServerOptions {
  redisPort: number;
  /** Queues and their priorities. @default { default: 1 } */
  queues?: Record<string, number>;
  /** How many tasks run at once. @default 10 */
  concurrency?: number;
  /** @default false */
  strictPriority?: boolean;
  /** How long each task runs, in ms. @default one hour */
  sleepMs?: number;
  /** How long running tasks are waited for at the end, in ms. @default 1000 */
  shutdownTimeoutMs?: number;
}

export interface AsynqServerEvent {
  event: 'ready' | 'started' | 'canceled' | 'finished' | 'stopped' | 'shutdown';
  /** Of the task, for started, canceled and finished. */
  id?: string;
  queue?: string;
  error?: string;
}

/** A real asynq server in a process of its own, whose tasks only sleep; it ends with the test process. */
export class AsynqServer {
  /** What it told so far, oldest first. */
  readonly events: AsynqServerEvent[] = [];
  private errors = '';

  constructor(
    private readonly child: Child,
    private readonly shutdownTimeoutMs: number,
  ) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.events.push(JSON.parse(line) as AsynqServerEvent);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors = (this.errors + text).slice(-10_000);
    });
    child.once('error', (error) => (this.errors += error.message));
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`the asynq server did not start: ${this.errors}`);
    return this.child.pid;
  }

  /** Waits for an event that was or will be told; rejects after 10 s or when the process has ended without it. */
  async waitFor(event: AsynqServerEvent['event'], id?: string): Promise<AsynqServerEvent> {
    const deadline = performance.now() + EVENT_TIMEOUT_MS;
    // Looked at before the events, because the last ones are read after the end or just before it.
    for (let isLastLook = false; ;) {
      const found = this.events.find((told) => told.event === event && (id === undefined || told.id === id));
      if (found !== undefined) return found;
      if (isLastLook) throw new Error(`the asynq server did not tell '${event}': ${this.errors}`);
      isLastLook = performance.now() > deadline || (hasEnded(this.child) && this.child.stdout.readableEnded);
      if (!isLastLook) await sleep(10);
    }
  }

  /** SIGTSTP: it takes no new tasks from now on. */
  async quiet(): Promise<void> {
    this.child.kill('SIGTSTP');
    await this.waitFor('stopped');
  }

  /** SIGSTOP: alive, but doing nothing. */
  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  /** SIGCONT: ends a freeze(). */
  thaw(): void {
    this.child.kill('SIGCONT');
  }

  /** Shuts it down in order, by force when that takes too long. */
  async stop(): Promise<void> {
    this.thaw();
    await endChild(this.child, this.shutdownTimeoutMs + SHUTDOWN_SLACK_MS);
  }

  /** SIGKILL: like a crash. Its tasks stay active and its records stay until they expire. */
  async kill(): Promise<void> {
    await killChild(this.child);
  }
}

/** Starts a real asynq server and waits until it runs. */
export async function startAsynqServer(options: AsynqServerOptions): Promise<AsynqServer> {
  const { redisPort, queues = { default: 1 }, concurrency = 10, strictPriority = false } = options;
  const { sleepMs = 60 * 60_000, shutdownTimeoutMs = 1_000 } = options;
  const args = ['serve', '--redis', `127.0.0.1:${String(redisPort)}`, '--concurrency', String(concurrency)];
  args.push(
    '--queues',
    Object.entries(queues)
      .map(([name, priority]) => `${name}=${String(priority)}`)
      .join(','),
  );
  args.push('--sleep', `${String(sleepMs)}ms`, '--shutdown-timeout', `${String(shutdownTimeoutMs)}ms`);
  if (strictPriority) args.push('--strict');

  const server = new AsynqServer(spawnTied(await buildAsynqPeer(), args), shutdownTimeoutMs);
  try {
    await server.waitFor('ready');
  } catch (error) {
    await server.kill();
    throw error;
  }
  return server;
}
