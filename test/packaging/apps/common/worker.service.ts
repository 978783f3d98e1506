import {
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { EventEmitter2, OnEvent } from '@nestjs/event-emitter';
import {
  BEAT,
  HeartbeatService,
  LEASE_LOST,
  LeaseHeldError,
  LeaseLostError,
  SERVER_DRAINING,
  WORKER_FINISHED,
  WORKER_STARTING,
  type BeatEvent,
  type LeaseLossReason,
  type LeaseLostEvent,
  type ServerDrainingEvent,
  type Task,
  type WorkerFinishedEvent,
  type WorkerStartingEvent,
} from 'nestjs-heartbeat';
import { report } from './report.js';

const MAIL: Task = { id: 'mail-1', type: 'mail:send', queue: 'mail', payload: 'to everybody' };
const IMAGE: Task = { id: 'image-1', type: 'image:resize', queue: 'images', payload: new Uint8Array([1, 2, 3]) };

/** Works on two tasks until the shutdown: one tracked and exclusive, one told by events. */
@Injectable()
export class WorkerService implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
  private begun = false;
  private up = false;
  private finish: () => void = () => undefined;

  // Injected by their types alone, as apps do: this needs the one copy of each that the app has.
  constructor(
    private readonly heartbeat: HeartbeatService,
    private readonly events: EventEmitter2,
  ) {}

  @OnEvent(BEAT)
  onBeat({ ok, renewed, activeTasks, serverId }: BeatEvent): void {
    if (!this.begun) {
      this.begun = true;
      void this.work();
    } else if (!this.up && ok && activeTasks === 2 && renewed === 1) {
      this.up = true;
      report('up', { serverId, healthy: this.heartbeat.healthy, sameServer: serverId === this.heartbeat.serverId });
    }
  }

  @OnEvent(LEASE_LOST)
  onLeaseLost({ task, reason }: LeaseLostEvent): void {
    report('leaseLost', { task, reason });
  }

  @OnEvent(SERVER_DRAINING)
  onDraining({ activeTasks }: ServerDrainingEvent): void {
    report('closing', { activeTasks });
    this.finish();
  }

  onModuleDestroy(): void {
    report('hook', { name: 'worker.onModuleDestroy' });
  }

  beforeApplicationShutdown(): void {
    report('hook', { name: 'worker.beforeApplicationShutdown' });
  }

  onApplicationShutdown(): void {
    report('hook', { name: 'worker.onApplicationShutdown' });
  }

  private async work(): Promise<void> {
    const finished = new Promise<void>((resolve) => (this.finish = resolve));
    const starting: WorkerStartingEvent = { task: IMAGE };
    this.events.emit(WORKER_STARTING, starting);
    try {
      const done: string = await this.heartbeat.track(
        MAIL,
        async ({ lease, signal }) => {
          report('secondHolder', { refused: await this.isRefused() });
          await finished;
          return lease.isValid && !signal.aborted ? 'held to the end' : 'lost';
        },
        { exclusive: true },
      );
      report('done', { done });
    } catch (error) {
      const reason: LeaseLossReason | undefined = error instanceof LeaseLostError ? error.reason : undefined;
      report('failed', { reason, error: String(error) });
    }
    const finishing: WorkerFinishedEvent = { task: IMAGE };
    this.events.emit(WORKER_FINISHED, finishing);
  }

  private async isRefused(): Promise<boolean> {
    try {
      await this.heartbeat.track(MAIL, () => undefined, { exclusive: true });
      return false;
    } catch (error) {
      return error instanceof LeaseHeldError;
    }
  }
}
