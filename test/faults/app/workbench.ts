import { LeaseLostError, type HeartbeatService, type Lease } from '../../../src/index.js';
import { moment } from '../../support/moments.js';
import type { ControlLine } from './control-line.js';

interface Work {
  readonly lease: Lease;
  lastValidAt: number;
  finish(): void;
}

/** The app's work: tasks that run until they are told to finish or that their lease is gone. */
export class Workbench {
  readonly #works = new Map<string, Work>();

  constructor(
    private readonly heartbeat: HeartbeatService,
    private readonly line: ControlLine,
  ) {}

  start(id: string, queue: string, leaseUntil: number): void {
    const lease = this.heartbeat.leaseUntil(leaseUntil);
    const finished = new Promise<void>((finish) => {
      this.#works.set(id, { lease, lastValidAt: moment(), finish });
    });
    const tracked = this.heartbeat.track(
      { id, queue, type: 'faults:wait', payload: id },
      ({ signal }) => this.#work(id, signal, finished),
      { lease },
    );
    void tracked.then(
      () => {
        this.#end(id, 'done');
      },
      (error: unknown) => {
        this.#end(id, error instanceof LeaseLostError ? error.code : String(error));
      },
    );
  }

  finish(ids: readonly string[]): void {
    for (const id of ids) this.#works.get(id)?.finish();
  }

  /** Asks each lease whether it is valid. */
  look(now: number): void {
    for (const work of this.#works.values()) if (work.lease.isValid) work.lastValidAt = now;
  }

  valid(): string[] {
    return [...this.#works].filter(([, { lease }]) => lease.isValid).map(([id]) => id);
  }

  /** Resolves whether it has finished or was told to stop: what it says of itself is not to be believed then. */
  #work(id: string, signal: AbortSignal, finished: Promise<void>): Promise<void> {
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        this.line.tell({ is: 'told', id, reason: (signal.reason as LeaseLostError).reason });
        resolve();
      });
    });
    return Promise.race([finished, stopped]);
  }

  #end(id: string, outcome: string): void {
    const lastValidAt = this.#works.get(id)?.lastValidAt ?? 0;
    this.#works.delete(id);
    this.line.tell({ is: 'ended', id, outcome, lastValidAt });
  }
}
