import {
  MemoryBroker,
  type Broker,
  type CallOptions,
  type Grant,
  type ReleaseMode,
  type Renewal,
  type ServerIdentity,
  type ServerState,
  type ServerStatus,
  type StoreMoment,
} from '../../../src/index.js';

type Method = keyof Broker;

/** A store in memory that keeps account of what it was asked, and can be made to fail or to hang. */
export class RecordingBroker extends MemoryBroker {
  /** Every call, in order, whatever became of it. */
  readonly calls: Method[] = [];
  /** What each state that was written said. */
  readonly written: { readonly status: ServerStatus; readonly workers: readonly string[] }[] = [];
  readonly cleared: ServerIdentity[] = [];
  /** Methods that never settle, and heed no signal either. */
  readonly hanging = new Set<Method>();
  readonly #failures = new Map<Method, number>();

  /** Lets the next calls of a method fail. */
  failNext(method: Method, times = 1): void {
    this.#failures.set(method, times);
  }

  count(method: Method): number {
    return this.calls.filter((call) => call === method).length;
  }

  override async writeState(state: ServerState, options?: CallOptions): Promise<StoreMoment> {
    await this.#enter('writeState');
    const moment = await super.writeState(state, options);
    this.written.push({ status: state.server.status, workers: state.workers.map(({ id }) => id) });
    return moment;
  }

  override async renew(queue: string, ids: readonly string[], ms: number, options?: CallOptions): Promise<Renewal> {
    await this.#enter('renew');
    return super.renew(queue, ids, ms, options);
  }

  override async acquire(queue: string, id: string, ms: number, options?: CallOptions): Promise<Grant | undefined> {
    await this.#enter('acquire');
    return super.acquire(queue, id, ms, options);
  }

  override async release(
    queue: string,
    id: string,
    expiresAt: number,
    mode: ReleaseMode,
    options?: CallOptions,
  ): Promise<boolean> {
    await this.#enter('release');
    return super.release(queue, id, expiresAt, mode, options);
  }

  override async clear(server: ServerIdentity): Promise<void> {
    await this.#enter('clear');
    this.cleared.push(server);
    await super.clear(server);
  }

  override async close(): Promise<void> {
    await this.#enter('close');
  }

  async #enter(method: Method): Promise<void> {
    this.calls.push(method);
    if (this.hanging.has(method)) await new Promise(() => undefined);
    const left = this.#failures.get(method) ?? 0;
    if (left === 0) return;
    this.#failures.set(method, left - 1);
    throw new Error(`no ${method} today`);
  }
}
