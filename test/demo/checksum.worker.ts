import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import {
  HeartbeatError,
  HeartbeatService,
  LeaseHeldError,
  LeaseLostError,
  ServerClosedError,
  type TaskContext,
} from 'nestjs-heartbeat';
import { checksum } from './checksum.js';
import { Feed, type ServerHappening } from './feed.js';
import { Job } from './job.js';
import type { SourceFile } from './source-files.js';

export const QUEUE = 'checksums';
export const CONCURRENCY = 4;

/** Between these, at random, lies how long a task lasts at least: milliseconds. */
const PACE = { least: 1500, most: 4000 };
const LOOK_AGAIN_MS = 500;

/** Where a task stands that this worker works on. */
export interface Slot {
  readonly number: number;
  readonly fraction: number;
}

/**
 * Makes checksums, several at a time, each as a tracked task under an exclusive lease. Every server goes over the same
 * files; whoever gets a file's lease does it.
 */
@Injectable()
export class ChecksumWorker implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #todo: { readonly file: SourceFile; readonly notBefore: number }[];
  readonly #slots = new Map<string, Slot>();
  readonly #held = new Set<string>();
  readonly #stopping = new AbortController();
  #done = 0;
  #loops: Promise<unknown> = Promise.resolve();

  constructor(
    @Inject(Job) private readonly job: Job,
    @Inject(Feed) private readonly feed: Feed,
    @Inject(HeartbeatService) private readonly heartbeat: HeartbeatService,
  ) {
    this.#todo = job.files.map((file) => ({ file, notBefore: 0 }));
  }

  /** Files done here. */
  get done(): number {
    return this.#done;
  }

  /** Files that were left to another server, because it held their lease. */
  get held(): number {
    return this.#held.size;
  }

  slotOf(taskId: string): Slot | undefined {
    return this.#slots.get(taskId);
  }

  onApplicationBootstrap(): void {
    this.#loops = Promise.all(Array.from({ length: CONCURRENCY }, (_, slot) => this.#work(slot)));
  }

  /** Takes nothing new from here on. What runs is waited for by the heartbeat, which is shut down after us. */
  onModuleDestroy(): void {
    this.#stopping.abort();
  }

  /** Resolves when nothing is in work any more. */
  async ended(): Promise<void> {
    await this.#loops;
  }

  async #work(slot: number): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted && !this.job.isFinished) {
      const file = this.#next();
      if (file) await this.#take(file, slot);
      else await sleep(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #next(): SourceFile | undefined {
    const now = performance.now();
    const index = this.#todo.findIndex(({ file, notBefore }) => notBefore <= now && !this.job.has(file));
    return index < 0 ? undefined : this.#todo.splice(index, 1)[0]?.file;
  }

  async #take(file: SourceFile, slot: number): Promise<void> {
    const task = { id: file.name, queue: QUEUE, type: 'checksum:sha256', payload: JSON.stringify({ size: file.size }) };
    try {
      await this.heartbeat.track(task, (context) => this.#make(file, slot, context), { exclusive: true });
    } catch (error) {
      this.#explain(file, error);
    } finally {
      this.#slots.delete(file.name);
    }
  }

  async #make(file: SourceFile, slot: number, { signal, lease }: TaskContext): Promise<void> {
    this.job.storeAnswered();
    // It may have been finished, or our own end may have begun, while the lease was asked for.
    if (this.job.has(file) || this.#stopping.signal.aborted) return;
    this.#tell({ kind: 'taken', file: file.name });
    const onProgress = (fraction: number): void => {
      this.#slots.set(file.name, { number: slot, fraction });
    };
    onProgress(0);
    const pace = PACE.least + Math.random() * (PACE.most - PACE.least);
    const sha256 = await checksum(file, { signal, pace, onProgress });
    // What is written down must not be written twice.
    lease.assertHeld();
    this.job.complete(file);
    this.#done += 1;
    this.#tell({ kind: 'done', file: file.name, size: file.size, sha256 });
  }

  #explain(file: SourceFile, error: unknown): void {
    if (error instanceof LeaseHeldError) {
      this.job.storeAnswered();
      if (!this.#held.has(file.name)) this.#tell({ kind: 'held', file: file.name });
      this.#held.add(file.name);
      this.#later(file);
    } else if (error instanceof LeaseLostError) {
      this.#tell({ kind: 'lost', file: file.name });
      this.#later(file);
    } else if (error instanceof ServerClosedError) {
      // We are ending anyway.
    } else if (error instanceof HeartbeatError) {
      // No lease, no work: the file is as it was, for us or for another server.
      this.job.storeFailed(error);
      this.#later(file);
    } else {
      this.job.fail(file);
      this.#tell({ kind: 'failed', file: file.name, why: error instanceof Error ? error.message : String(error) });
    }
  }

  #tell(happening: ServerHappening): void {
    this.feed.tell({ ...happening, server: this.heartbeat.serverId });
  }

  /** A held file is looked at again: whoever holds it may die, and then its lease runs out. */
  #later(file: SourceFile): void {
    this.#todo.push({ file, notBefore: performance.now() + LOOK_AGAIN_MS });
  }
}
