import type { SchedulerRegistry } from '@nestjs/schedule';
import type { Clock, ClockTimer } from './time/clock.js';

/** Under which name the interval stands in the app's `SchedulerRegistry`. */
export const HEARTBEAT_INTERVAL = 'heartbeat';

/** The interval that drives the beats, listed among the app's own as long as the app runs. */
export class HeartbeatInterval {
  #timer: ClockTimer | undefined;
  #registry: SchedulerRegistry | undefined;
  #name = HEARTBEAT_INTERVAL;

  constructor(
    private readonly clock: Clock,
    private readonly ms: number,
    private readonly tick: () => void,
  ) {}

  /** @param registry undefined when the app has none: the interval runs all the same. */
  start(registry: SchedulerRegistry | undefined, serverId: string): void {
    this.#timer = this.clock.setInterval(this.tick, this.ms);
    if (!registry) return;
    if (registry.doesExist('interval', HEARTBEAT_INTERVAL)) this.#name = `${HEARTBEAT_INTERVAL}:${serverId}`;
    registry.addInterval(this.#name, this.#timer);
    this.#registry = registry;
  }

  /**
   * ScheduleModule clears all that is listed while HTTP and other modules still drain: what is to beat until the last
   * task has finished must not be listed any more.
   */
  leaveRegistry(): void {
    if (!this.#registry?.doesExist('interval', this.#name)) return;
    this.stop();
    this.#registry = undefined;
    this.#timer = this.clock.setInterval(this.tick, this.ms);
  }

  stop(): void {
    if (this.#registry?.doesExist('interval', this.#name)) this.#registry.deleteInterval(this.#name);
    if (this.#timer) this.clock.clear(this.#timer);
    this.#timer = undefined;
  }
}
