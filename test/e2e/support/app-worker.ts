import { Inject, Injectable, Optional } from '@nestjs/common';
import { EventEmitter2, OnEvent } from '@nestjs/event-emitter';
import { Interval, SchedulerRegistry } from '@nestjs/schedule';
import {
  BEAT,
  BEAT_FAILED,
  BEAT_RECOVERED,
  HeartbeatService,
  LEASE_LOST,
  SERVER_CLEARED,
  SERVER_DRAINING,
} from '../../../src/index.js';

const OUTGOING = [BEAT, BEAT_FAILED, BEAT_RECOVERED, LEASE_LOST, SERVER_DRAINING, SERVER_CLEARED] as const;
type Outgoing = (typeof OUTGOING)[number];

/** How often each outgoing event came. */
export type Tally = Record<Outgoing, number>;

export function tally(counts: Partial<Tally> = {}): Tally {
  return { ...(Object.fromEntries(OUTGOING.map((name) => [name, 0])) as Tally), ...counts };
}

/** What an app has beside us: an interval of its own, and listeners of both kinds. */
@Injectable()
export class AppWorker {
  static readonly INTERVAL_MS = 1000;

  ticks = 0;
  readonly heard = tally();
  readonly heardRaw = tally();

  constructor(
    @Inject(HeartbeatService) readonly heartbeat: HeartbeatService,
    @Optional() @Inject(EventEmitter2) readonly emitter: EventEmitter2 | undefined,
    @Optional() @Inject(SchedulerRegistry) readonly registry: SchedulerRegistry | undefined,
  ) {
    for (const name of OUTGOING) emitter?.on(name, () => (this.heardRaw[name] += 1));
  }

  @Interval('of the app', AppWorker.INTERVAL_MS)
  tick(): void {
    this.ticks += 1;
  }

  @OnEvent(BEAT)
  onBeat(): void {
    this.heard[BEAT] += 1;
  }

  @OnEvent(BEAT_FAILED)
  onBeatFailed(): void {
    this.heard[BEAT_FAILED] += 1;
  }

  @OnEvent(BEAT_RECOVERED)
  onBeatRecovered(): void {
    this.heard[BEAT_RECOVERED] += 1;
  }

  @OnEvent(LEASE_LOST)
  onLeaseLost(): void {
    this.heard[LEASE_LOST] += 1;
  }

  @OnEvent(SERVER_DRAINING)
  onServerDraining(): void {
    this.heard[SERVER_DRAINING] += 1;
  }

  @OnEvent(SERVER_CLEARED)
  onServerCleared(): void {
    this.heard[SERVER_CLEARED] += 1;
  }
}
