/** One press of Ctrl-C may come as several signals, when npm or tsx pass it on, too. */
const SAME_PRESS_MS = 500;

/**
 * Somebody wants the demo to end. The first time it ends in order; whoever cannot wait asks again.
 *
 * An app of yours would call `app.enableShutdownHooks()`. Here, several apps end side by side, and the process goes on
 * until it has shown what is left.
 */
export class StopRequest {
  readonly #controller = new AbortController();
  #askedAt = -Infinity;

  /** @param now is called when there is no more patience. */
  constructor(private readonly now: () => void) {}

  /** Aborts at the first request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly ask = (): void => {
    if (!this.signal.aborted) {
      this.#askedAt = performance.now();
      this.#controller.abort();
    } else if (performance.now() - this.#askedAt > SAME_PRESS_MS) this.now();
  };

  /** Takes SIGINT and SIGTERM for requests. */
  onSignals(): void {
    process.on('SIGINT', this.ask).on('SIGTERM', this.ask);
  }
}
