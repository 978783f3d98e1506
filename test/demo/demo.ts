import { setTimeout as sleep } from 'node:timers/promises';
import { CONCURRENCY } from './checksum.worker.js';
import { endingOf, explain, type Ending } from './ending.js';
import type { Feed } from './feed.js';
import { Fleet } from './fleet.js';
import { Job } from './job.js';
import type { SourceFolder } from './source-files.js';
import type { Store } from './store.js';
import { UserError } from './user-error.js';
import type { Holdings, Phase, Snapshot } from './view/snapshot.js';
import { counted } from './view/text.js';
import type { View } from './view/view.js';

const SERVERS = 2;
const LOOK_MS = 250;
/** So that one sees servers that have nothing to do, too. */
const LINGER_MS = 1500;

export interface DemoOptions {
  readonly folder: SourceFolder;
  readonly store: Store;
  readonly feed: Feed;
  readonly view: View;
  /** Ends the demo early, in order. */
  readonly stop: AbortSignal;
  /** Milliseconds after which it ends by itself, in order. */
  readonly timeLimit: number;
}

/** One run: servers come up, share the work, and go. */
export class Demo {
  readonly #job: Job;
  readonly #fleet: Fleet;
  readonly #begun = performance.now();
  #phase: Phase = 'running';
  #holds: Holdings | undefined;
  #result: string | undefined;

  /** @throws {HeartbeatOptionError} when the store's options cannot work. */
  constructor(private readonly options: DemoOptions) {
    this.#job = new Job(options.folder);
    this.#fleet = new Fleet(SERVERS, { store: options.store.options, job: this.#job, feed: options.feed });
  }

  /** @throws {UserError} when the store could not be used, or files could not be read. */
  async run(): Promise<void> {
    const { feed, view, stop, timeLimit } = this.options;
    feed.tell({ kind: 'note', text: this.#title });
    await this.#fleet.start();
    await this.#look();
    view.start(() => this.#snapshot());
    const looking = setInterval(() => void this.#look(), LOOK_MS);

    const ending = await endingOf(this.#job, stop, timeLimit);
    feed.tell({ kind: 'note', text: explain(ending) });
    if (ending === 'finished') await sleep(LINGER_MS, undefined, { signal: stop }).catch(() => undefined);
    this.#phase = 'draining';
    await this.#fleet.close();
    clearInterval(looking);
    await this.#look();
    this.#conclude(ending);
  }

  #conclude(ending: Ending): void {
    const { store, feed, view } = this.options;
    const { done, failed, files } = this.#job;
    this.#phase = 'ended';
    this.#result = `${String(done)} of ${counted(files.length, 'file')} done${done > 0 ? ', each once' : ''}. ${this.#whatIsLeft}`;
    feed.tell({ kind: 'result', text: this.#result });
    view.stop();
    if (ending instanceof Error) throw new UserError(`${store.name} cannot be used: ${innermost(ending)}.`, 1);
    if (failed > 0) throw new UserError(`${counted(failed, 'file')} could not be read.`, 1);
  }

  get #whatIsLeft(): string {
    if (!this.#holds) return 'The store does not answer.';
    const { servers, workers, leases } = this.#holds;
    if (servers + workers + leases === 0) return 'The store is empty.';
    return `The store holds ${counted(servers, 'server')} and ${counted(leases, 'lease')} of others.`;
  }

  get #title(): string {
    const { files, name, isCut } = this.options.folder;
    return `nestjs-heartbeat · SHA-256 of ${isCut ? 'the first ' : ''}${counted(files.length, 'file')} of ${name}`;
  }

  async #look(): Promise<void> {
    this.#holds = await this.options.store.look();
  }

  #snapshot(): Snapshot {
    const { done, failed, bytes, files } = this.#job;
    return {
      title: this.#title,
      elapsed: performance.now() - this.#begun,
      servers: this.#fleet.servers,
      tasks: this.#fleet.tasks,
      slotsPerServer: CONCURRENCY,
      store: { name: this.options.store.name, holds: this.#holds },
      progress: { done, failed, total: files.length, bytes },
      phase: this.#phase,
      result: this.#result,
    };
  }
}

/** What was wrong in the first place, without what was being done when it was noticed. */
function innermost(error: Error): string {
  return error.cause instanceof Error ? innermost(error.cause) : error.message.replace(/\.$/, '');
}
