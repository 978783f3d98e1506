import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';

/** Something that {@link Clock.setTimeout} or {@link Clock.setInterval} gave and that the clock can clear again. */
export type ClockTimer = object;

/**
 * Where all time of this module comes from. Override the provider {@link HEARTBEAT_CLOCK} to drive it from a test.
 */
export interface Clock {
  /** Wall-clock time in epoch milliseconds, for what is shown and stored. It may be stepped at any moment. */
  now(): number;
  /**
   * Milliseconds since an arbitrary moment, for what is judged: never moved by a step of the wall clock, and it counts
   * the time that the machine was suspended.
   */
  steady(): number;
  setTimeout(callback: () => void, ms: number): ClockTimer;
  setInterval(callback: () => void, ms: number): ClockTimer;
  /** Clears a timeout or an interval; clearing twice is harmless. */
  clear(timer: ClockTimer): void;
}

/**
 * The machine's own clocks. Node's monotonic clock stands still while a Linux machine sleeps; the boot clock behind
 * `os.uptime()` does not, but is read in steps of 10 ms. So the monotonic clock is followed, and where the boot clock
 * has run ahead of it by more than that coarseness explains, it wins.
 */
class SystemClock implements Clock {
  /** Above the 10 ms in which Linux reports its uptime, with room for the time between the two reads. */
  private static readonly COARSENESS_MS = 50;

  readonly #bootOffset = uptime() * 1000 - performance.now();
  #asleep = 0;

  now(): number {
    return Date.now();
  }

  steady(): number {
    const monotonic = performance.now();
    const asleep = uptime() * 1000 - this.#bootOffset - monotonic;
    if (asleep > this.#asleep + SystemClock.COARSENESS_MS) this.#asleep = asleep;
    return monotonic + this.#asleep;
  }

  setTimeout(callback: () => void, ms: number): ClockTimer {
    return setTimeout(callback, ms);
  }

  setInterval(callback: () => void, ms: number): ClockTimer {
    return setInterval(callback, ms).unref();
  }

  clear(timer: ClockTimer): void {
    // Node clears timeouts and intervals alike with either function.
    clearTimeout(timer as NodeJS.Timeout);
  }
}

/** The default clock. Its intervals do not keep a process alive. */
export const systemClock: Clock = new SystemClock();

/** Turns a wall-clock moment into the steady time at which it comes, judged by the wall clock as it stands now. */
export function steadyTimeOf(clock: Clock, wallMs: number): number {
  return clock.steady() + (wallMs - clock.now());
}
