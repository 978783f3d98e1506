import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { EventEmitter2, EventEmitterReadinessWatcher } from '@nestjs/event-emitter';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { BeatHistory } from './beat/beat-loop.js';
import type { Broker } from './broker/broker.js';
import type { ServerStatus } from './format/records.js';
import { RedisBroker } from './broker/redis/redis-broker.js';
import { HeartbeatEmitter } from './heartbeat.emitter.js';
import { BEAT, BEAT_FAILED, BEAT_RECOVERED, LEASE_LOST, SERVER_CLEARED, SERVER_DRAINING } from './heartbeat.events.js';
import { HeartbeatInterval } from './heartbeat.interval.js';
import { findingsOf, missingShutdownHooks, startLine } from './heartbeat.messages.js';
import type { ResolvedHeartbeatOptions } from './heartbeat.options.js';
import { HEARTBEAT_CLOCK, HEARTBEAT_HOST_PROCESS, HEARTBEAT_OPTIONS } from './heartbeat.tokens.js';
import type { HostProcess } from './host-process.js';
import type { Lease } from './lease/lease.js';
import { Server } from './server/server.js';
import type { TaskContext, TrackOptions } from './task/task-tracker.js';
import type { Task, TaskRef } from './task/task.js';
import type { Clock, ClockTimer } from './time/clock.js';

/** A task in work on this server. */
export interface ActiveTask extends TaskRef {
  readonly type: string;
  readonly startedAt: Date;
  /** The task's own deadline. */
  readonly deadline: Date | undefined;
  readonly lease: Lease;
  /** Whether the work goes on although its lease is gone. */
  readonly overdue: boolean;
}

/**
 * This process as a server that others can see: beats for it, tracks its tasks and keeps their leases.
 *
 * @publicApi
 */
@Injectable()
export class HeartbeatService implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  readonly #logger = new Logger('Heartbeat');
  readonly #server: Server;
  readonly #interval: HeartbeatInterval;
  #emitter: HeartbeatEmitter | undefined;
  #hint: ClockTimer | undefined;
  #finished: Promise<void> | undefined;

  constructor(
    @Inject(HEARTBEAT_OPTIONS) private readonly options: ResolvedHeartbeatOptions,
    @Inject(RedisBroker) private readonly broker: Broker,
    @Inject(HEARTBEAT_CLOCK) private readonly clock: Clock,
    @Inject(HEARTBEAT_HOST_PROCESS) private readonly host: HostProcess,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {
    this.#server = new Server(options, broker, clock, host, this.#logger, {
      beaten: (history, outage) => {
        this.#tellOfBeat(history, outage);
      },
      leaseLost: ({ id, type, queue, lease }, reason) => {
        this.#emitter?.emit(LEASE_LOST, { ...this.#server.identity, task: { id, type, queue }, reason, lease });
      },
      draining: (activeTasks) => {
        this.#emitter?.emit(SERVER_DRAINING, { ...this.#server.identity, activeTasks });
      },
      cleared: (error) => {
        this.#emitter?.emit(SERVER_CLEARED, { ...this.#server.identity, ...(error && { error }) });
      },
    });
    this.#interval = new HeartbeatInterval(clock, options.interval, () => {
      this.#server.tick();
    });
  }

  /** Under which id this server is listed: a UUID, new for each start. */
  get serverId(): string {
    return this.#server.identity.serverId;
  }

  /** `new` → `active` ⇄ `stopped` → `closed`. */
  get status(): ServerStatus {
    return this.#server.status;
  }

  /** The tasks in work, as they are at this moment. */
  get activeTasks(): readonly ActiveTask[] {
    return Array.from(this.#server.registry.runs(), (run) => ({
      id: run.id,
      type: run.type,
      queue: run.queue,
      startedAt: new Date(run.startedAt),
      deadline: run.deadline === undefined ? undefined : new Date(run.deadline),
      lease: run.lease,
      overdue: run.overdue,
    }));
  }

  /** How many of the active tasks go on although their lease is gone: handlers that do not heed their signal. */
  get overdueTasks(): number {
    return this.#server.overdueTasks;
  }

  /** When the last beat began that did all it should; undefined before the first. */
  get lastBeatAt(): Date | undefined {
    return this.#server.lastBeatAt;
  }

  /**
   * Whether others see this server as it is: its last good beat is younger than `ttl`. False until the first one has
   * succeeded; true where the heartbeat is disabled, since nothing is amiss there.
   */
  get healthy(): boolean {
    return this.#server.healthy;
  }

  /**
   * By how many milliseconds the store's clock is at least ahead of this machine's (negative: behind), as the last beat
   * has found; 0 when no difference can be told from the time that the answer took. Undefined when it is not known.
   */
  get clockDifference(): number | undefined {
    return this.#server.clockDifference;
  }

  /**
   * Runs a function as a tracked task: its start and its finish are reported whatever happens in it.
   *
   * @param work is handed the task's lease and a signal that aborts when the lease is lost.
   * @returns what `work` returns.
   * @throws {LeaseLostError} when the lease was lost, even if `work` resolved; what `work` threw is the cause.
   * @throws {LeaseHeldError} when the task is exclusive and somebody else holds it.
   * @throws {BrokerError} when the lease of an exclusive task could not be asked for; `work` was not called.
   * @throws {TimeLimitError} when the answer took longer than `beatTimeout`; `work` was not called.
   * @throws {InvalidTaskError} when the task is malformed.
   * @throws {ServerClosedError} when this server was shut down already.
   * @throws {HeartbeatDisabledError} when the task is exclusive and the heartbeat is disabled.
   */
  track<T>(task: Task, work: (context: TaskContext) => T, options: TrackOptions = {}): Promise<Awaited<T>> {
    return this.#server.track(task, work, options);
  }

  /**
   * The lease of a task that was claimed from its queue, to be handed to {@link track} or to a starting event.
   *
   * @param deadline when the store has it run out: a `Date` or epoch milliseconds, by the store's clock.
   */
  leaseUntil(deadline: Date | number): Lease {
    return this.#server.leaseUntil(deadline);
  }

  /** Says that no new tasks are taken: status `stopped`. What runs goes on. */
  stop(): void {
    this.#server.setTaking(false);
  }

  /** Says that tasks are taken again: status `active`. */
  resume(): void {
    this.#server.setTaking(true);
  }

  /** Resolves when no task is active: at once if none is. */
  onIdle(): Promise<void> {
    return this.#server.registry.whenIdle();
  }

  /** Beats now, or right after the beat that runs, and tells what came of it. Never rejects. */
  beat(): Promise<BeatHistory> {
    return this.#server.beat();
  }

  /** @internal Workers may report from here on. */
  onModuleInit(): void {
    const { registry } = this.#server;
    const emitters = this.#all<EventEmitter2>(EventEmitter2);
    if (emitters.length === 0) return;
    const reports = {
      start: registry.start.bind(registry),
      finish: registry.finish.bind(registry),
    };
    const watchers = this.#all<EventEmitterReadinessWatcher>(EventEmitterReadinessWatcher);
    const ready = Promise.all(watchers.map((watcher) => watcher.waitUntilReady()));
    this.#emitter = new HeartbeatEmitter(emitters, ready, reports, this.#logger);
    this.#emitter.listen();
  }

  /** @internal Starts the server. Nothing is waited for: an app comes up without its store. */
  onApplicationBootstrap(): void {
    if (!this.options.enabled) {
      this.#logger.log('Disabled: this process is not listed, and keeps no leases.');
      return;
    }
    const [registry] = this.#all<SchedulerRegistry>(SchedulerRegistry);
    const found = { schedule: registry !== undefined, events: this.#emitter !== undefined };
    this.#logger.log(startLine(this.#server.identity, this.options, this.broker, found));
    const missing = findingsOf(found);
    if (missing) this.#logger.warn(missing);
    this.#interval.start(registry, this.serverId);
    this.#server.start();
    // An app may ask for its shutdown hooks after it has been initialised.
    this.#hint = this.clock.setTimeout(() => {
      if (!this.host.handles('SIGTERM')) this.#logger.warn(missingShutdownHooks(this.options));
    }, this.options.interval);
  }

  /** @internal The app shuts down: say so, and go on beating on our own until the last task has finished. */
  async onModuleDestroy(): Promise<void> {
    this.#emitter?.outliveRemoval();
    if (this.#hint) this.clock.clear(this.#hint);
    if (!this.options.enabled) return;
    this.#interval.leaveRegistry();
    await this.#server.drain();
  }

  /** @internal Waits for the running tasks and clears this server's state; every caller waits for the same end. */
  async onApplicationShutdown(): Promise<void> {
    this.#finished ??= this.#finish();
    await this.#finished;
  }

  async #finish(): Promise<void> {
    if (this.options.enabled) await this.#server.shutDown();
    this.#interval.stop();
    this.#emitter?.close();
    // A broker that the app handed in is the app's to close.
    if (this.options.broker === undefined) {
      await this.broker.close().catch((error: unknown) => {
        this.#logger.warn(`The broker could not be closed: ${String(error)}`);
      });
    }
  }

  #tellOfBeat(history: BeatHistory, outage: number | undefined): void {
    const payload = { ...this.#server.identity, ...history };
    this.#emitter?.emit(history.ok ? BEAT : BEAT_FAILED, payload);
    if (outage !== undefined) this.#emitter?.emit(BEAT_RECOVERED, { ...payload, outage });
  }

  /** All instances that the app has of a provider, wherever it stands: none when nobody imports its module. */
  #all<T>(token: Type<T>): T[] {
    try {
      return [...new Set(this.moduleRef.get<T, T>(token, { strict: false, each: true }))];
    } catch {
      return [];
    }
  }
}
