import { describe, expect, it } from 'vitest';
import { Lease, type LeaseLossReason, type ServerInfo } from '../../src/index.js';
import { Beat } from '../../src/beat/beat.js';
import { TaskRegistry } from '../../src/task/task-registry.js';
import type { Run } from '../../src/task/run.js';
import { FakeClock, flush } from '../support/fake-clock.js';
import { FakeLog } from '../support/fake-log.js';
import { never, ScriptedBroker } from '../support/scripted-broker.js';

const server: ServerInfo = {
  host: 'h',
  pid: 1,
  serverId: 's',
  concurrency: 1,
  queues: { q: 1 },
  strictPriority: false,
  status: 'active',
  startedAt: 0,
};
const timing = { ttl: 10_000, leaseDuration: 30_000, beatTimeout: 2000 };

function beatOf() {
  const clock = new FakeClock();
  const log = new FakeLog();
  const broker = new ScriptedBroker(clock);
  const lost: [string, LeaseLossReason][] = [];
  const registry = new TaskRegistry(clock, { leaseLost: (run, reason) => lost.push([run.id, reason]) });
  const beat = new Beat(broker, registry, clock, log, timing, () => server);
  const claim = (id: string, queue = 'q', ms = 30_000): Run =>
    registry.start({ task: { id, type: 't', queue }, lease: new Lease(clock.now() + ms, clock) });
  return { clock, log, broker, lost, registry, beat, claim };
}

describe('Beat', () => {
  it('writes the server, all of its workers and the ttl', async () => {
    const { broker, registry, beat, claim } = beatOf();
    claim('leased');
    registry.start({ task: { id: 'free', type: 't', queue: 'other', payload: 'x' } });
    const report = await beat.run();
    expect(report).toMatchObject({ ok: true, activeTasks: 2, renewed: 1, gone: 0, errors: [], clockDifference: 0 });
    expect(broker.states[0]).toMatchObject({
      server,
      ttl: 10_000,
      workers: [
        { id: 'leased', queue: 'q', deadline: undefined },
        { id: 'free', queue: 'other', payload: 'x' },
      ],
    });
  });

  it('renews the valid leases queue by queue, before it writes the state', async () => {
    const { broker, beat, claim } = beatOf();
    claim('a', 'x');
    claim('b', 'y');
    claim('c', 'x');
    await beat.run();
    expect(broker.renewals).toEqual([
      { queue: 'x', ids: ['a', 'c'], duration: 30_000 },
      { queue: 'y', ids: ['b'], duration: 30_000 },
    ]);
    expect(broker.calls).toEqual(['renew x', 'renew y', 'write']);
  });

  it('moves the local lease to the new expiry', async () => {
    const { clock, beat, claim } = beatOf();
    const { lease } = claim('a', 'q', 10_000);
    await clock.advance(9000);
    await beat.run();
    expect(lease.deadline).toEqual(new Date(clock.now() + 30_000));
  });

  it('does not renew a lease that has expired, and tells its worker', async () => {
    const { clock, broker, lost, beat, claim } = beatOf();
    claim('late', 'q', 1000);
    claim('good');
    clock.block(1001);
    await beat.run();
    expect(broker.renewals).toMatchObject([{ ids: ['good'] }]);
    expect(lost).toEqual([['late', 'expired']]);
  });

  it('never renews past the task’s deadline, nor what has finished', async () => {
    const { clock, broker, lost, registry, beat } = beatOf();
    const lease = (): Lease => new Lease(clock.now() + 30_000, clock);
    registry.start({ task: { id: 'over', type: 't', queue: 'q' }, lease: lease(), deadline: clock.now() + 500 });
    registry.end(registry.start({ task: { id: 'done', type: 't', queue: 'q' }, lease: lease() }));
    clock.block(600);
    await beat.run();
    expect(broker.renewals).toEqual([]);
    expect(lost).toEqual([['over', 'deadline']]);
    expect(broker.states[0]?.workers.map(({ id }) => id)).toEqual(['over']);
  });

  it('does not shorten a lease that was granted for longer than we renew for', async () => {
    const { clock, broker, beat, claim } = beatOf();
    claim('long', 'q', 60_000);
    await beat.run();
    expect(broker.renewals).toEqual([]);
    await clock.advance(31_000);
    await beat.run();
    expect(broker.renewals).toMatchObject([{ ids: ['long'] }]);
  });

  it('counts the local deadline from before the question, by the store’s clock', async () => {
    const { clock, broker, beat, claim } = beatOf();
    const { lease } = claim('a');
    const askedAt = clock.now();
    broker.onRenew = () => {
      clock.block(1500);
      // The store's clock is an hour ahead, and its whole seconds cost a bit of the lease.
      return { storeNow: askedAt + 3_600_400, expiresAt: askedAt + 3_630_000 };
    };
    await beat.run();
    expect(lease.deadline).toEqual(new Date(askedAt + 29_600));
  });

  it('tells the worker at once of a lease that the store no longer holds, and never believes it again', async () => {
    const { broker, lost, beat, claim } = beatOf();
    claim('a');
    const { lease } = claim('b');
    broker.onRenew = () => ({ gone: ['b'] });
    expect(await beat.run()).toMatchObject({ ok: true, renewed: 1, gone: 1 });
    expect(lost).toEqual([['b', 'lost']]);
    expect(lease.isValid).toBe(false);
    broker.onRenew = () => ({});
    await beat.run();
    expect(broker.renewals.at(-1)?.ids).toEqual(['a']);
  });

  it('takes no offence at a task that finished, and left the store, while it was being renewed', async () => {
    const { broker, lost, registry, beat, claim } = beatOf();
    const run = claim('a');
    broker.onRenew = () => {
      registry.end(run);
      return { gone: ['a'] };
    };
    expect(await beat.run()).toMatchObject({ ok: true, gone: 0 });
    expect(lost).toEqual([]);
  });

  it('warns of a lease that expired while it was being renewed: the reset is refused', async () => {
    const { clock, log, broker, lost, beat, claim } = beatOf();
    const { lease } = claim('a', 'q', 1000);
    broker.onRenew = () => {
      clock.block(1001);
      return {};
    };
    await beat.run();
    expect(lease.isValid).toBe(false);
    expect(lost).toEqual([['a', 'expired']]);
    expect(log.warnings).toEqual([expect.stringContaining('"a"')]);
  });

  it('lets no failing queue stop the others, nor the state', async () => {
    const { broker, beat, claim } = beatOf();
    claim('a', 'bad');
    const { lease } = claim('b', 'good', 10_000);
    const before = lease.deadline;
    broker.onRenew = (queue) => {
      if (queue === 'bad') throw new Error('no such luck');
      return {};
    };
    const report = await beat.run();
    expect(report).toMatchObject({ ok: false, renewed: 1, errors: [{ message: 'no such luck' }] });
    expect(lease.deadline).not.toEqual(before);
    expect(broker.states).toHaveLength(1);
  });

  it('leaves leases alone when a renewal fails: they run until their local deadline', async () => {
    const { clock, broker, lost, beat, claim } = beatOf();
    const { lease } = claim('a', 'q', 10_000);
    broker.onRenew = () => Promise.reject(new Error('gone fishing'));
    await beat.run();
    expect(lease.isValid).toBe(true);
    await clock.advance(9900);
    expect(lost).toEqual([]);
    await clock.advance(200);
    expect(lost).toEqual([['a', 'expired']]);
  });

  it('is over when its time is, whatever hangs', async () => {
    const { clock, broker, beat, claim } = beatOf();
    claim('a');
    broker.onRenew = never;
    broker.onWrite = never;
    let report: { ok: boolean; duration: number; errors: readonly Error[] } | undefined;
    void beat.run().then((result) => (report = result));
    await clock.advance(1999);
    expect(report).toBeUndefined();
    await clock.advance(1);
    expect(report).toMatchObject({ ok: false, duration: 2000 });
    expect(report?.errors).toHaveLength(2);
    expect(clock.pending).toBe(1); // The watch over the deadline of "a".
  });

  it('keeps half of its time for the state when a renewal hangs', async () => {
    const { clock, broker, beat, claim } = beatOf();
    claim('a');
    broker.onRenew = never;
    void beat.run();
    await clock.advance(999);
    expect(broker.states).toHaveLength(0);
    await clock.advance(1);
    expect(broker.states).toHaveLength(1);
  });

  it('ignores what a hanging renewal says when its beat is long over', async () => {
    const { clock, broker, lost, beat, claim } = beatOf();
    const { lease } = claim('a', 'q', 10_000);
    let reply: (gone: { gone: string[] }) => void = () => undefined;
    broker.onRenew = () => new Promise((resolve) => (reply = resolve));
    const running = beat.run();
    await clock.advance(2000);
    await running;
    reply({ gone: [] });
    await flush();
    await clock.advance(8100);
    expect(lost).toEqual([['a', 'expired']]);
    expect(lease.isValid).toBe(false);
  });

  it('tells how far the store’s clock is ahead, but only as far as it can be known', async () => {
    const { clock, broker, beat } = beatOf();
    broker.onWrite = () => clock.block(400);
    expect(await beat.run()).toMatchObject({ clockDifference: 0 });
    broker.onWrite = () => clock.step(-5000);
    expect(await beat.run()).toMatchObject({ clockDifference: 5000 });
  });

  it('knows the store’s time from steady time, whatever happens to our wall clock', async () => {
    const { clock, broker, beat } = beatOf();
    expect(beat.storeOffset).toBeUndefined();
    const storeNow = clock.now();
    broker.onWrite = () => clock.step(3_600_000);
    await beat.run();
    clock.step(-7_200_000);
    clock.block(1000);
    expect(clock.steady() + Number(beat.storeOffset)).toBe(storeNow + 1000);
  });
});
