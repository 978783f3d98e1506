import { BeatJournal } from '../beat/beat-journal.js';
import { EarlyWrite } from '../beat/early-write.js';
import { BeatLoop, type BeatHistory } from '../beat/beat-loop.js';
import { Beat, type BeatTiming } from '../beat/beat.js';
import { ServerClosedError } from '../broker/broker.errors.js';
import type { Broker } from '../broker/broker.js';
import type { ServerIdentity, ServerInfo, ServerStatus } from '../format/records.js';
import { HeartbeatError, messageOf } from '../errors.js';
import type { HostProcess } from '../host-process.js';
import { Lease } from '../lease/lease.js';
import type { LeaseLossReason } from '../lease/lease-lost.error.js';
import type { Log } from '../log.js';
import { TaskJournal } from '../task/task-journal.js';
import type { Run } from '../task/run.js';
import { TaskRegistry } from '../task/task-registry.js';
import { TaskTracker, type TaskContext, type TrackOptions } from '../task/task-tracker.js';
import type { Task } from '../task/task.js';
import type { Clock } from '../time/clock.js';
import { abortable, boundedBy, Limit, pause, settledWithin } from '../time/limit.js';
import { giveBack } from './give-back.js';

/** How long the end of a beat is waited for before the clear. */
const LAST_BEAT_MS = 250;
/** After what time a clear that failed is tried again, once. */
const CLEAR_AGAIN_MS = 100;

/** What a server is told of itself; times in milliseconds. */
export interface ServerSettings
  extends BeatTiming, Pick<ServerInfo, 'host' | 'concurrency' | 'queues' | 'strictPriority'> {
  readonly enabled: boolean;
  readonly drainTimeout: number;
}

/** Whoever wants to hear of a server's life. Nothing may be thrown from here. */
export interface ServerListener {
  beaten(history: BeatHistory, outage: number | undefined): void;
  leaseLost(run: Run, reason: LeaseLossReason): void;
  draining(activeTasks: number): void;
  cleared(error: Error | undefined): void;
}

/** Exclusive work needs a store, and this server has none. Code `E_DISABLED`. */
export class HeartbeatDisabledError extends HeartbeatError {
  constructor() {
    super(
      'E_DISABLED',
      'An exclusive task cannot be run where the heartbeat is disabled (option "enabled"): nobody would know of its lease',
    );
  }
}

/** The life of one server: start, beat, drain, clear. */
export class Server {
  readonly identity: ServerIdentity;
  readonly registry: TaskRegistry;

  readonly #beat: Beat;
  readonly #loop: BeatLoop;
  readonly #early: EarlyWrite;
  readonly #tracker: TaskTracker;
  readonly #journal: TaskJournal;
  #status: ServerStatus = 'new';
  #startedAt = 0;
  #lastBeat: { readonly at: Date; readonly steady: number } | undefined;
  #clockDifference: number | undefined;
  #drain: Promise<void> | undefined;
  #end: Promise<void> | undefined;
  #cleared = false;

  constructor(
    private readonly settings: ServerSettings,
    private readonly broker: Broker,
    private readonly clock: Clock,
    host: HostProcess,
    private readonly log: Log,
    private readonly listener: ServerListener,
  ) {
    this.identity = { host: settings.host, pid: host.pid, serverId: host.uuid() };
    this.#journal = new TaskJournal(log, clock);
    this.registry = new TaskRegistry(clock, {
      leaseLost: (run, reason) => {
        this.#journal.enter(`lost the lease while running (${reason})`, run.id);
        listener.leaseLost(run, reason);
      },
      started: () => {
        if (this.#status !== 'new' && !this.#cleared) this.#early.started();
      },
    });
    this.#beat = new Beat(broker, this.registry, clock, log, settings, () => this.#describe());
    const journal = new BeatJournal(log, clock);
    this.#loop = new BeatLoop(
      () => this.#beat.run(),
      () => this.#beat.write(),
      (history) => {
        // A beat that hung at the end: nobody is left to care.
        if (this.#cleared) return;
        if (history.ok) this.#lastBeat = { at: history.startedAt, steady: clock.steady() - history.duration };
        this.#clockDifference = history.clockDifference;
        listener.beaten(history, journal.enter(history));
      },
      clock,
      () => host.random(),
    );
    this.#early = new EarlyWrite(clock, { registry: this.registry, beat: this.#beat }, () => {
      this.#loop.write();
    });
    this.#tracker = new TaskTracker(this.registry, broker, clock, this.#journal, settings, () => this.#loop.settled());
  }

  get status(): ServerStatus {
    return this.#status;
  }

  /** When the last good beat began. */
  get lastBeatAt(): Date | undefined {
    return this.#lastBeat?.at;
  }

  /** Whether the store has what it should: the last good beat is younger than the ttl. */
  get healthy(): boolean {
    if (!this.settings.enabled) return true;
    return this.#lastBeat !== undefined && this.clock.steady() - this.#lastBeat.steady < this.settings.ttl;
  }

  /** Milliseconds by which the store's clock is ahead of this machine's, for certain; undefined until it is known. */
  get clockDifference(): number | undefined {
    return this.#clockDifference;
  }

  get overdueTasks(): number {
    return this.registry.overdueAt(this.clock.steady());
  }

  /** Begins to beat, at once. */
  start(): void {
    this.#status = 'active';
    this.#startedAt = this.clock.now();
    void this.#loop.now();
  }

  tick(): void {
    this.#loop.tick();
  }

  /** A beat that begins now, or right after the one that runs. Never rejects. */
  async beat(): Promise<BeatHistory> {
    if (this.#status !== 'new' && !this.#cleared) return this.#loop.now();
    const why = this.#cleared ? 'was shut down' : 'has not started';
    const error = new ServerClosedError(`This server ${why}: it does not beat`);
    return {
      ok: false,
      startedAt: new Date(this.clock.now()),
      duration: 0,
      activeTasks: this.registry.size,
      overdueTasks: this.overdueTasks,
      renewed: 0,
      gone: 0,
      clockDifference: undefined,
      errors: [error],
      failures: 1,
      skippedTicks: 0,
    };
  }

  /**
   * The lease of a task that was claimed from its queue until a moment of the store's clock. A wrong clock here makes it
   * neither longer nor shorter, once a beat has told how wrong it is.
   */
  leaseUntil(deadline: Date | number): Lease {
    const offset = this.#beat.storeOffset;
    if (offset === undefined) return new Lease(deadline, this.clock);
    const lease = new Lease(Infinity, this.clock);
    lease.extend(Number(deadline) - offset);
    return lease;
  }

  /** Says that no new tasks are taken, or that they are again. Nothing happens in any other status. */
  setTaking(taking: boolean): void {
    if (this.#status !== (taking ? 'stopped' : 'active')) return;
    this.#status = taking ? 'active' : 'stopped';
    void this.#loop.now();
  }

  async track<T>(task: Task, work: (context: TaskContext) => T, options: TrackOptions = {}): Promise<Awaited<T>> {
    if (options.exclusive && !this.settings.enabled) throw new HeartbeatDisabledError();
    return this.#tracker.track(task, work, options);
  }

  /** Says that the shutdown has begun, here and in the store. Beats and renewals go on. */
  drain(): Promise<void> {
    this.#drain ??= this.#beginDrain();
    return this.#drain;
  }

  /**
   * Waits for the running tasks, gives back what is still held when the drain time is over, and removes this server
   * from the store. Every caller waits for the same end. Never rejects, and takes no longer than the drain time, the
   * beat that runs and two more calls to the store.
   */
  shutDown(): Promise<void> {
    this.#end ??= this.#shutDown();
    return this.#end;
  }

  async #beginDrain(): Promise<void> {
    if (this.#status === 'new') return;
    this.#status = 'closed';
    this.listener.draining(this.registry.size);
    await this.#loop.now();
  }

  async #shutDown(): Promise<void> {
    await this.drain();
    if (this.#status === 'new') return;
    await settledWithin(this.clock, this.settings.drainTimeout, this.registry.whenIdle());
    this.#cleared = true;
    this.#early.stop();
    this.#tracker.close();
    // A beat that hangs is not waited for: what is sent now comes after what it has sent.
    await settledWithin(this.clock, LAST_BEAT_MS, this.#loop.stop());
    const left = [...this.registry.runs()];
    for (const run of left) run.lease.revoke('shutdown');
    await giveBack(left, this.broker, this.clock, this.settings.beatTimeout, this.log);
    const error = await this.#clear();
    this.registry.close();
    this.#journal.flush();
    this.listener.cleared(error);
  }

  async #clear(): Promise<Error | undefined> {
    const limit = new Limit(this.clock, this.settings.beatTimeout);
    const clear = (): Promise<void> =>
      boundedBy(limit.signal, (signal) => this.broker.clear(this.identity, { signal }));
    try {
      // A hanging beat may take its connection with it, and a clear with that: there is time to try anew.
      await clear().catch(async () => {
        await abortable(pause(this.clock, CLEAR_AGAIN_MS), limit.signal);
        await clear();
      });
      return undefined;
    } catch (error) {
      this.log.warn(
        `This server could not be removed from the store (${messageOf(error)}). ` +
          `Readers see it for up to ${String(this.settings.ttl)} ms more, then it runs out by itself.`,
      );
      return error as Error;
    } finally {
      limit.clear();
    }
  }

  #describe(): ServerInfo {
    const { concurrency, queues, strictPriority } = this.settings;
    return { ...this.identity, concurrency, queues, strictPriority, status: this.#status, startedAt: this.#startedAt };
  }
}
