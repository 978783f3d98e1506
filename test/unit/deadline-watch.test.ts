import { describe, expect, it } from 'vitest';
import { Lease, type LeaseLossReason } from '../../src/index.js';
import { DeadlineWatch } from '../../src/lease/deadline-watch.js';
import { FakeClock } from '../support/fake-clock.js';

function watched(): {
  clock: FakeClock;
  watch: DeadlineWatch;
  lost: [id: string, reason: LeaseLossReason, at: number][];
  add: (id: string, ms: number) => Lease;
} {
  const clock = new FakeClock();
  const leases = new Set<Lease>();
  const start = clock.steady();
  const lost: [string, LeaseLossReason, number][] = [];
  const watch = new DeadlineWatch(clock, () => leases);
  const add = (id: string, ms: number): Lease => {
    const lease = new Lease(clock.now() + ms, clock);
    lease.bind({ id, queue: 'q', leaseLost: (reason) => lost.push([id, reason, clock.steady() - start]) }, Infinity);
    leases.add(lease);
    watch.consider(lease);
    return lease;
  };
  return { clock, watch, lost, add };
}

describe('DeadlineWatch', () => {
  it('tells each holder within moments of its deadline, with one timer', async () => {
    const { clock, lost, add } = watched();
    add('late', 3000);
    add('early', 1000);
    add('never', Infinity);
    expect(clock.pending).toBe(1);
    await clock.advance(5000);
    expect(lost.map(([id, reason]) => [id, reason])).toEqual([
      ['early', 'expired'],
      ['late', 'expired'],
    ]);
    expect(lost[0]?.[2]).toBeGreaterThan(1000);
    expect(lost[0]?.[2]).toBeLessThan(1030);
    expect(lost[1]?.[2]).toBeLessThan(3030);
  });

  it('lets a renewed lease live, and still sees it end', async () => {
    const { clock, lost, add } = watched();
    const lease = add('a', 1000);
    await clock.advance(900);
    lease.reset(clock.now() + 1000);
    await clock.advance(900);
    expect(lost).toEqual([]);
    await clock.advance(200);
    expect(lost).toHaveLength(1);
  });

  it('sleeps when there is nothing to wait for', async () => {
    const { clock, add } = watched();
    add('a', 100);
    add('never', Infinity);
    await clock.advance(5000);
    expect(clock.pending).toBe(0);
  });

  it('notices soon after the machine has slept through a deadline, though timers have not', async () => {
    const { clock, lost, add } = watched();
    add('a', 3_600_000);
    await clock.advance(1000);
    clock.block(7_200_000);
    await clock.advance(100);
    expect(lost).toHaveLength(1);
  });

  it('serves what a holder starts while it is told', async () => {
    const { clock, lost, add } = watched();
    add('second', 5000);
    const first = add('first', 1000);
    first.bind({ id: 'first', queue: 'q', leaseLost: () => add('third', 50) }, Infinity);
    await clock.advance(1100);
    expect(lost.map(([id]) => id)).toEqual(['third']);
    await clock.advance(4000);
    expect(lost.map(([id]) => id)).toEqual(['third', 'second']);
  });

  it('stops', async () => {
    const { clock, watch, lost, add } = watched();
    add('a', 100);
    watch.stop();
    await clock.advance(1000);
    expect(lost).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
