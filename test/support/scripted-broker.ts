import type { Broker, Renewal, ServerState } from '../../src/index.js';
import type { FakeClock } from './fake-clock.js';

type Reply<T> = () => Promise<T> | T;

/** A broker that does what the test says, and keeps what it was asked. */
export class ScriptedBroker implements Broker {
  readonly calls: string[] = [];
  readonly states: ServerState[] = [];
  readonly renewals: { readonly queue: string; readonly ids: readonly string[]; readonly duration: number }[] = [];

  onWrite: Reply<void> = () => undefined;
  onRenew: (queue: string, ids: readonly string[]) => Promise<Partial<Renewal>> | Partial<Renewal> = () => ({});
  onClear: Reply<void> = () => undefined;

  constructor(private readonly clock: FakeClock) {}

  async writeState(state: ServerState): ReturnType<Broker['writeState']> {
    this.calls.push('write');
    this.states.push(state);
    const storeNow = this.clock.now();
    await this.onWrite();
    return { storeNow };
  }

  async renew(queue: string, ids: readonly string[], duration: number): Promise<Renewal> {
    this.calls.push(`renew ${queue}`);
    this.renewals.push({ queue, ids, duration });
    const storeNow = this.clock.now();
    return { storeNow, expiresAt: storeNow + duration, gone: [], ...(await this.onRenew(queue, ids)) };
  }

  async acquire(_queue: string, _id: string, duration: number): ReturnType<Broker['acquire']> {
    this.calls.push('acquire');
    return { storeNow: this.clock.now(), expiresAt: this.clock.now() + duration };
  }

  async release(queue: string, id: string, expiresAt: number, mode: string): Promise<boolean> {
    this.calls.push(`release ${queue} ${id} ${mode} ${String(expiresAt)}`);
    return true;
  }

  async clear(): Promise<void> {
    this.calls.push('clear');
    await this.onClear();
  }

  async close(): Promise<void> {
    this.calls.push('close');
  }
}

/** A reply that never comes. */
export const never = (): Promise<never> => new Promise(() => undefined);
