import type { EventEmitter2 } from '@nestjs/event-emitter';
import { WORKER_FINISHED, WORKER_STARTING, type HeartbeatEventPayloads } from './heartbeat.events.js';
import { messageOf } from './errors.js';
import type { Log } from './log.js';
import { checkTaskFinish, checkTaskStart, InvalidTaskError, type TaskFinish, type TaskStart } from './task/task.js';

/** Whom the workers' reports are for. */
export interface WorkerReports {
  start(start: TaskStart): void;
  finish(finish: TaskFinish): void;
}

/** The app's event emitters: where workers report, and where the app hears of us. */
export class HeartbeatEmitter {
  readonly #emitters: readonly EventEmitter2[];
  readonly #malformed = new Set<string>();
  #ready = false;
  #outlives = false;

  /**
   * @param emitters all that the app has: workers are heard on each, and we speak on the first.
   * @param ready settles when the app's own listeners are in their places.
   */
  constructor(
    emitters: readonly EventEmitter2[],
    private readonly ready: Promise<unknown>,
    private readonly reports: WorkerReports,
    private readonly log: Log,
  ) {
    this.#emitters = emitters;
    const spoken = (): void => {
      this.#ready = true;
    };
    ready.then(spoken, spoken);
  }

  listen(): void {
    for (const emitter of this.#emitters) {
      emitter.on(WORKER_STARTING, this.#onStarting);
      emitter.on(WORKER_FINISHED, this.#onFinished);
    }
  }

  /**
   * Keeps listening while the emitter's own module removes all listeners, which it does at shutdown, before or after
   * us. Those for any event are not among them.
   */
  outliveRemoval(): void {
    // Hooks may run twice, and once more after the end.
    if (this.#outlives) return;
    this.#outlives = true;
    this.#unlisten();
    for (const emitter of this.#emitters) emitter.onAny(this.#onAny);
  }

  close(): void {
    this.#unlisten();
    for (const emitter of this.#emitters) emitter.offAny(this.#onAny);
  }

  /** Tells the app, as soon as it can hear. What its listeners throw, now or later, disturbs nobody. */
  emit<Name extends keyof HeartbeatEventPayloads>(name: Name, payload: HeartbeatEventPayloads[Name]): void {
    const send = (): void => {
      this.#send(name, payload);
    };
    if (this.#ready) send();
    else this.ready.then(send, send);
  }

  #send(name: string, payload: unknown): void {
    const complain = (error: unknown): void => {
      this.log.error(`A listener of "${name}" threw: ${messageOf(error)}`);
    };
    try {
      this.#emitters[0]?.emitAsync(name, payload).catch(complain);
    } catch (error) {
      complain(error);
    }
  }

  #unlisten(): void {
    for (const emitter of this.#emitters) {
      emitter.off(WORKER_STARTING, this.#onStarting);
      emitter.off(WORKER_FINISHED, this.#onFinished);
    }
  }

  readonly #onStarting = (event: unknown): void => {
    this.#take(WORKER_STARTING, () => {
      checkTaskStart(event);
      this.reports.start(event);
    });
  };

  readonly #onFinished = (event: unknown): void => {
    this.#take(WORKER_FINISHED, () => {
      checkTaskFinish(event);
      this.reports.finish(event);
    });
  };

  readonly #onAny = (path: unknown, event: unknown): void => {
    // Names may be symbols, and lists of both.
    const name = Array.isArray(path) ? path.map(String).join('.') : path;
    if (name === WORKER_STARTING) this.#onStarting(event);
    if (name === WORKER_FINISHED) this.#onFinished(event);
  };

  /** Nothing may be thrown into the emitter: it belongs to the worker that is about to do its work. */
  #take(name: string, report: () => void): void {
    try {
      report();
    } catch (error) {
      const kind = `${name} ${error instanceof InvalidTaskError ? error.field : ''}`;
      if (this.#malformed.has(kind)) return;
      this.#malformed.add(kind);
      this.log.error(
        `Dropped a malformed "${name}" event: ${messageOf(error)}. Further ones of this kind are dropped silently.`,
      );
    }
  }
}
