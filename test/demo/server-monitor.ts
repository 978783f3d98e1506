import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import {
  BEAT,
  HEARTBEAT_OPTIONS,
  HeartbeatService,
  SERVER_CLEARED,
  SERVER_DRAINING,
  type ActiveTask,
  type BeatEvent,
  type ResolvedHeartbeatOptions,
  type ServerClearedEvent,
  type ServerDrainingEvent,
} from 'nestjs-heartbeat';
import { ChecksumWorker } from './checksum.worker.js';
import { Feed, type ServerHappening } from './feed.js';
import type { ServerView, TaskView } from './view/snapshot.js';

/** Watches one server from outside: through its service and its events. */
@Injectable()
export class ServerMonitor implements OnModuleInit {
  #beats = 0;
  #end: 'cleared' | 'ended' | undefined;

  constructor(
    @Inject(HeartbeatService) private readonly heartbeat: HeartbeatService,
    @Inject(HEARTBEAT_OPTIONS) private readonly options: ResolvedHeartbeatOptions,
    @Inject(ChecksumWorker) private readonly worker: ChecksumWorker,
    @Inject(Feed) private readonly feed: Feed,
  ) {}

  onModuleInit(): void {
    this.#tell({ kind: 'up' });
  }

  @OnEvent(BEAT)
  onBeat({ activeTasks, renewed }: BeatEvent): void {
    this.#beats += 1;
    this.#tell({ kind: 'beat', beat: this.#beats, tasks: activeTasks, renewed });
  }

  @OnEvent(SERVER_DRAINING)
  onDraining({ activeTasks }: ServerDrainingEvent): void {
    this.#tell({ kind: 'draining', tasks: activeTasks });
  }

  @OnEvent(SERVER_CLEARED)
  onCleared({ error }: ServerClearedEvent): void {
    this.#end = error ? 'ended' : 'cleared';
    this.#tell(error ? { kind: 'uncleared', why: error.message } : { kind: 'cleared' });
  }

  get server(): ServerView {
    const { lastBeatAt, serverId, healthy, activeTasks } = this.heartbeat;
    const { host, concurrency } = this.options;
    return {
      id: serverId,
      host,
      pid: process.pid,
      status: this.#status,
      healthy,
      active: activeTasks.length,
      concurrency,
      sinceBeat: lastBeatAt && Date.now() - lastBeatAt.getTime(),
      beats: this.#beats,
      done: this.worker.done,
      held: this.worker.held,
    };
  }

  get tasks(): TaskView[] {
    return this.heartbeat.activeTasks.map((task) => this.#taskView(task));
  }

  /** For people, `closed` is two things. */
  get #status(): string {
    if (this.#end) return this.#end;
    return this.heartbeat.status === 'closed' ? 'draining' : this.heartbeat.status;
  }

  #taskView({ id, queue, startedAt, lease, overdue }: ActiveTask): TaskView {
    const now = Date.now();
    const { number: slot, fraction } = this.worker.slotOf(id) ?? { number: 0, fraction: 1 };
    return {
      server: this.heartbeat.serverId,
      slot,
      id,
      queue,
      elapsed: now - startedAt.getTime(),
      lease: lease.deadline && lease.deadline.getTime() - now,
      overdue,
      fraction,
    };
  }

  #tell(happening: ServerHappening): void {
    this.feed.tell({ ...happening, server: this.heartbeat.serverId });
  }
}
