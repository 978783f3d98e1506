import type { Clock, ClockTimer } from '../../src/index.js';

interface Timer {
  at: number;
  readonly every: number | undefined;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to go on. */
export class FakeClock implements Clock {
  #steady = 1_000;
  #wall: number;
  readonly #timers = new Set<Timer>();

  /** @param wall the wall-clock time at the beginning, in epoch milliseconds. */
  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#wall = wall;
  }

  now(): number {
    return this.#wall;
  }

  steady(): number {
    return this.#steady;
  }

  setTimeout(callback: () => void, ms: number): ClockTimer {
    return this.#add(ms, undefined, callback);
  }

  setInterval(callback: () => void, ms: number): ClockTimer {
    return this.#add(ms, ms, callback);
  }

  clear(timer: ClockTimer): void {
    this.#timers.delete(timer as Timer);
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets time pass, running what falls due at its moment, and promises to their end after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#steady + ms;
    await flush();
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#moveTo(Math.max(next.at, this.#steady));
      if (next.every === undefined) this.#timers.delete(next);
      else next.at += next.every;
      next.callback();
      await flush();
    }
    this.#moveTo(end);
    await flush();
  }

  /** Lets time pass without running a timer, as a blocked event loop does. */
  block(ms: number): void {
    this.#moveTo(this.#steady + ms);
  }

  /** Sets the wall clock forward or back, as an operator or a time service does. */
  step(ms: number): void {
    this.#wall += ms;
  }

  #moveTo(steady: number): void {
    this.#wall += steady - this.#steady;
    this.#steady = steady;
  }

  #add(ms: number, every: number | undefined, callback: () => void): Timer {
    const timer = { at: this.#steady + ms, every, callback };
    this.#timers.add(timer);
    return timer;
  }
}

/** Lets all promises that can go on do so. */
export async function flush(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
