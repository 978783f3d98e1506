import { setMaxListeners } from 'node:events';
import { HeartbeatError } from '../errors.js';
import type { Clock } from './clock.js';

/** Something took longer than it may. Code `E_TIMEOUT`. */
export class TimeLimitError extends HeartbeatError {
  constructor(ms: number) {
    super('E_TIMEOUT', `no answer within ${String(ms)} ms`);
  }
}

/** A time limit for everything that is given its signal. */
export class Limit {
  readonly #controller = new AbortController();
  readonly #clear: () => void;

  constructor(clock: Clock, ms: number) {
    // One beat may wait for any number of replies under one limit: that is no leak, and not worth a warning.
    setMaxListeners(0, this.#controller.signal);
    const timer = clock.setTimeout(() => {
      this.#controller.abort(new TimeLimitError(ms));
    }, ms);
    this.#clear = () => {
      clock.clear(timer);
    };
  }

  /** Aborts with a {@link TimeLimitError} when the time is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Lifts the limit. */
  clear(): void {
    this.#clear();
  }
}

/** Settles as `promise` does, or rejects with the signal's reason when that aborts first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', abort);
    });
  });
}

/**
 * {@link abortable} for a call that was given the signal too: it is left the moment to say itself why it failed, which is
 * more than that time was over.
 */
export function boundedBy<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const overdue = new AbortController();
  const give = (): void => {
    setImmediate(() => {
      overdue.abort(signal.reason);
    });
  };
  if (signal.aborted) give();
  else signal.addEventListener('abort', give, { once: true });
  return abortable(call(signal), overdue.signal).finally(() => {
    signal.removeEventListener('abort', give);
  });
}

/** Resolves when `promise` has settled, however, and at the latest when the time is over. Never rejects. */
export async function settledWithin(clock: Clock, ms: number, promise: Promise<unknown>): Promise<void> {
  const limit = new Limit(clock, ms);
  await abortable(promise, limit.signal).catch(() => undefined);
  limit.clear();
}

/** Resolves when the time is over. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimeout(resolve, ms));
}
