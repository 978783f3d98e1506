import { describe, expect, it } from 'vitest';
import { Lease, LeaseLostError } from '../../src/index.js';
import { FakeClock } from '../support/fake-clock.js';

function leaseOf(ms: number): { clock: FakeClock; lease: Lease } {
  const clock = new FakeClock();
  return { clock, lease: new Lease(clock.now() + ms, clock) };
}

const thrownBy = (run: () => void): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('Lease', () => {
  it('is valid at exactly the deadline, and not a moment later', () => {
    const { clock, lease } = leaseOf(1000);
    clock.block(1000);
    expect(lease.isValid).toBe(true);
    clock.block(0.001);
    expect(lease.isValid).toBe(false);
  });

  it('is right without any timer having run, as after a blocked event loop', () => {
    const { clock, lease } = leaseOf(1000);
    const { signal } = lease;
    clock.block(5000);
    expect(signal.aborted).toBe(false);
    expect(lease.isValid).toBe(false);
    expect(lease.reason).toBe('expired');
  });

  it('is not moved by steps of the wall clock', () => {
    const { clock, lease } = leaseOf(1000);
    clock.step(3_600_000);
    expect(lease.isValid).toBe(true);
    clock.step(-7_200_000);
    clock.block(1001);
    expect(lease.isValid).toBe(false);
  });

  it('tells its deadline in wall-clock time', () => {
    const { clock, lease } = leaseOf(1000);
    expect(lease.deadline).toEqual(new Date(clock.now() + 1000));
    expect(new Lease(Infinity, clock).deadline).toBeUndefined();
  });

  it('takes a new deadline while valid, and refuses after expiry', () => {
    const { clock, lease } = leaseOf(1000);
    clock.block(500);
    expect(lease.reset(new Date(clock.now() + 1000))).toBe(true);
    clock.block(1000);
    expect(lease.isValid).toBe(true);
    clock.block(1);
    expect(lease.reset(clock.now() + 1000)).toBe(false);
    expect(lease.isValid).toBe(false);
  });

  it('notifies of its expiration once, and refuses before', () => {
    const { clock, lease } = leaseOf(1000);
    expect(lease.notifyExpiration()).toBe(false);
    clock.block(1001);
    expect(lease.notifyExpiration()).toBe(true);
    expect(lease.notifyExpiration()).toBe(false);
    expect(lease.signal.aborted).toBe(true);
  });

  it('is revoked once, for the first reason', () => {
    const { lease } = leaseOf(1000);
    expect(lease.revoke('lost')).toBe(true);
    expect(lease.revoke('canceled')).toBe(false);
    expect(lease.isValid).toBe(false);
    expect(lease.reason).toBe('lost');
    expect(lease.reset(Date.now() + 1e9)).toBe(false);
  });

  it('makes its signal when it is read, aborted if the lease is gone already', () => {
    const { lease } = leaseOf(1000);
    const before = lease.signal;
    expect(before).toBe(lease.signal);
    lease.revoke('canceled');
    expect(before.aborted).toBe(true);
    expect(before.reason).toMatchObject({ code: 'E_LEASE_LOST', reason: 'canceled' });

    const { lease: gone } = leaseOf(1000);
    gone.revoke('lost');
    expect(gone.signal.aborted).toBe(true);
  });

  it('asserts that it is held', () => {
    const { clock, lease } = leaseOf(1000);
    lease.assertHeld();
    clock.block(1001);
    const error = thrownBy(() => lease.assertHeld());
    expect(error).toBeInstanceOf(LeaseLostError);
    expect(error).toMatchObject({ code: 'E_LEASE_LOST', reason: 'expired' });
  });

  it('ends with the earlier of its expiry and the task’s own deadline, and says which', () => {
    const { clock, lease } = leaseOf(1000);
    const lost: string[] = [];
    lease.bind({ id: 'a', queue: 'q', leaseLost: (reason) => lost.push(reason) }, clock.steady() + 400);
    expect(lease.reset(clock.now() + 9000)).toBe(true);
    clock.block(401);
    expect(lease.isValid).toBe(false);
    expect(lease.notifyExpiration()).toBe(true);
    expect(lost).toEqual(['deadline']);
    expect(thrownBy(() => lease.assertHeld())).toMatchObject({
      message: expect.stringContaining('task "a" in queue "q"') as string,
    });
  });

  it('is no longer valid once its work has finished, and nobody is told', () => {
    const { lease } = leaseOf(1000);
    lease.bind({ id: 'a', queue: 'q', leaseLost: () => expect.unreachable() }, Infinity);
    lease.end();
    expect(lease.isValid).toBe(false);
    expect(lease.reason).toBeUndefined();
    expect(lease.revoke('lost')).toBe(false);
  });
});
