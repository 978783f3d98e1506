import type { ClockTimer } from '../../../src/index.js';
import { FakeClock } from '../../support/fake-clock.js';

/**
 * A fake clock whose intervals can be cleared by Node's clearInterval() too, as ScheduleModule does with all that is
 * listed in its registry: behind each stands a timer of Node's that never fires.
 */
export class ListedClock extends FakeClock {
  static readonly #NEVER_MS = 2 ** 31 - 1;
  readonly #fakes = new Map<ClockTimer, ClockTimer>();

  override setInterval(callback: () => void, ms: number): ClockTimer {
    const real = setInterval(() => undefined, ListedClock.#NEVER_MS).unref();
    const fake = super.setInterval(() => {
      if (!isCleared(real)) callback();
    }, ms);
    this.#fakes.set(real, fake);
    return real;
  }

  override clear(timer: ClockTimer): void {
    const fake = this.#fakes.get(timer);
    if (fake) clearInterval(timer as NodeJS.Timeout);
    super.clear(fake ?? timer);
    this.#fakes.delete(timer);
  }
}

/** Node has no public word for it. */
function isCleared(timer: NodeJS.Timeout & { readonly _destroyed?: boolean }): boolean {
  return timer._destroyed === true;
}
