import { afterEach, describe, expect, it } from 'vitest';
import {
  Lease,
  LeaseHeldError,
  LeaseLostError,
  MemoryBroker,
  WORKER_FINISHED,
  WORKER_STARTING,
  type TaskContext,
} from '../../src/index.js';
import { FakeClock, flush } from '../support/fake-clock.js';
import { heartbeatApp, type HeartbeatApp } from '../support/heartbeat-app.js';
import { never, ScriptedBroker } from '../support/scripted-broker.js';

let started: HeartbeatApp | undefined;
const start = async (...args: Parameters<typeof heartbeatApp>): Promise<HeartbeatApp> =>
  (started = await heartbeatApp(...args));

afterEach(async () => {
  const closing = started?.app.close();
  await started?.clock.advance(60_000);
  await closing;
  started = undefined;
});

const task = { id: 'a', type: 't', queue: 'q' };
const deferred = <T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void } => {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
};

describe('worker events', () => {
  it('change the state in memory at once, though the store hangs', async () => {
    const clock = new FakeClock();
    const broker = new ScriptedBroker(clock);
    broker.onWrite = never;
    const { emitter, heartbeat } = await start({}, { broker, clock });
    emitter.emit(WORKER_STARTING, { task });
    expect(heartbeat.activeTasks).toMatchObject([{ ...task, overdue: false, startedAt: new Date(clock.now()) }]);
    emitter.emit(WORKER_FINISHED, { task });
    expect(heartbeat.activeTasks).toEqual([]);
  });

  it('keep a claimed task’s lease until it has finished', async () => {
    const { emitter, heartbeat, broker, clock } = await start();
    const { expiresAt } = broker.claim('q', 'a', 30_000);
    const lease = heartbeat.leaseUntil(expiresAt);
    emitter.emit(WORKER_STARTING, { task, lease });
    await clock.advance(5000);
    expect(broker.leases('q').get('a')).toBe(clock.now() + 30_000);
    await clock.advance(60_000);
    expect(lease.isValid).toBe(true);
    emitter.emit(WORKER_FINISHED, { task, lease });
    const left = broker.leases('q').get('a');
    await clock.advance(20_000);
    expect(broker.leases('q').get('a')).toBe(left);
  });

  it('tell the worker, and the app, of a lease that is gone from the store', async () => {
    const { emitter, heartbeat, broker, clock, events, log } = await start();
    broker.claim('q', 'a', 30_000);
    const lease = heartbeat.leaseUntil(clock.now() + 30_000);
    const { signal } = lease;
    emitter.emit(WORKER_STARTING, { task, lease });
    broker.drop('q', 'a');
    await clock.advance(5000);
    expect(signal.aborted).toBe(true);
    expect(events.at(-2)).toMatchObject({
      name: 'heartbeat.lease.lost',
      payload: { serverId: heartbeat.serverId, task, reason: 'lost', lease },
    });
    expect(heartbeat.activeTasks).toMatchObject([{ overdue: true }]);
    broker.claim('q', 'a', 10_000);
    await clock.advance(11_000);
    expect(broker.leases('q').get('a')).toBeLessThan(clock.now());
    expect(log.ours('warn')).toEqual([expect.stringContaining('1 task lost the lease while running (lost): "a"')]);
  });

  it('judge a claimed lease by the store’s clock, however wrong ours is', async () => {
    const clock = new FakeClock();
    const broker = new MemoryBroker(clock);
    const store = new FakeClock(clock.now() + 3_600_000);
    const { heartbeat } = await start({}, { broker: new MemoryBroker(store), clock });
    const { expiresAt } = broker.claim('q', 'a', 30_000);
    const lease = heartbeat.leaseUntil(expiresAt + 3_600_000);
    expect(lease.deadline).toEqual(new Date(clock.now() + 30_000));
    clock.step(-3_600_000);
    expect(heartbeat.leaseUntil(expiresAt + 3_600_000).deadline).toEqual(new Date(clock.now() + 30_000));
  });

  it('end a run by its lease: the finish of an old run leaves the new one', async () => {
    const { emitter, heartbeat, clock } = await start();
    const [first, second] = [new Lease(clock.now() + 9000, clock), new Lease(clock.now() + 9000, clock)];
    emitter.emit(WORKER_STARTING, { task, lease: first });
    emitter.emit(WORKER_STARTING, { task, lease: second });
    emitter.emit(WORKER_FINISHED, { task, lease: first });
    expect(heartbeat.activeTasks).toMatchObject([{ id: 'a', overdue: false }]);
    emitter.emit(WORKER_FINISHED, { task, lease: second });
    expect(heartbeat.activeTasks).toEqual([]);
  });

  it('of a thousand lost leases are told in a line, not in a thousand', async () => {
    const { emitter, clock, log, events } = await start();
    for (let n = 0; n < 1000; n += 1) {
      emitter.emit(WORKER_STARTING, {
        task: { ...task, id: String(n) },
        lease: new Lease(clock.now() + 1000 + n, clock),
      });
    }
    await clock.advance(4000);
    expect(events.filter(({ name }) => name === 'heartbeat.lease.lost')).toHaveLength(1000);
    expect(log.ours('warn').length).toBeLessThanOrEqual(2);
    expect(log.ours('warn')[0]).toContain('more');
  });
});

describe('track()', () => {
  it('runs a function as a tracked task, and hands on what it returns', async () => {
    const { heartbeat } = await start();
    const work = deferred<number>();
    const tracked = heartbeat.track(task, () => work.promise);
    expect(heartbeat.activeTasks).toMatchObject([task]);
    work.resolve(42);
    expect(await tracked).toBe(42);
    expect(heartbeat.activeTasks).toEqual([]);
    expect(await heartbeat.track(task, () => 'at once')).toBe('at once');
  });

  it('reports the finish whatever happens in it', async () => {
    const { heartbeat } = await start();
    const failure = new Error('no');
    await expect(
      heartbeat.track(task, () => {
        throw failure;
      }),
    ).rejects.toBe(failure);
    await expect(heartbeat.track(task, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(heartbeat.activeTasks).toEqual([]);
  });

  it('goes through one registry with the events', async () => {
    const { heartbeat, emitter } = await start();
    emitter.emit(WORKER_STARTING, { task: { ...task, id: 'emitted' } });
    const tracked = heartbeat.track(task, never);
    tracked.catch(() => undefined);
    expect(heartbeat.activeTasks.map(({ id }) => id)).toEqual(['emitted', 'a']);
  });

  it('rejects when the lease was lost, even if the function resolved', async () => {
    const { heartbeat, broker, clock } = await start();
    const lease = heartbeat.leaseUntil(broker.claim('q', 'a', 30_000).expiresAt);
    const work = deferred<string>();
    let aborted = false;
    const tracked = heartbeat.track(
      task,
      ({ signal }) => {
        signal.addEventListener('abort', () => (aborted = true));
        return work.promise;
      },
      { lease },
    );
    const outcome = tracked.catch((error: unknown) => error);
    broker.drop('q', 'a');
    await clock.advance(5000);
    expect(aborted).toBe(true);
    expect(heartbeat.activeTasks).toMatchObject([{ overdue: true }]);
    work.resolve('done, I think');
    const error = await outcome;
    expect(error).toBeInstanceOf(LeaseLostError);
    expect(error).toMatchObject({ reason: 'lost' });
    expect(heartbeat.activeTasks).toEqual([]);
  });

  it('rejects so too when the loop was blocked past the deadline, before any timer could run', async () => {
    const { heartbeat, clock } = await start();
    const tracked = heartbeat.track(
      task,
      ({ lease }) => {
        clock.block(31_000);
        return lease.isValid;
      },
      { lease: new Lease(clock.now() + 30_000, clock) },
    );
    await expect(tracked).rejects.toMatchObject({ code: 'E_LEASE_LOST', reason: 'expired' });
  });

  it('keeps what the function threw as the cause', async () => {
    const { heartbeat, clock } = await start();
    const cause = new Error('aborted');
    const tracked = heartbeat.track(
      task,
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(cause));
        }),
      { deadline: clock.now() + 1000 },
    );
    const outcome = tracked.catch((error: unknown) => error);
    await clock.advance(1100);
    expect(await outcome).toMatchObject({ reason: 'deadline', cause });
  });

  it('rejects what is no task', async () => {
    const { heartbeat } = await start();
    const malformed = heartbeat.track({ ...task, queue: '}q' }, () => expect.unreachable());
    await expect(malformed).rejects.toMatchObject({ code: 'E_TASK', field: 'task.queue' });
  });
});

describe('track(…, { exclusive: true })', () => {
  it('runs on one instance of many, and gives the lease back', async () => {
    const { heartbeat, broker } = await start();
    const work = deferred<string>();
    const tracked = heartbeat.track(task, () => work.promise, { exclusive: true });
    await flush();
    expect(broker.leases('q').has('a')).toBe(true);
    await expect(heartbeat.track(task, () => 'second', { exclusive: true })).rejects.toBeInstanceOf(LeaseHeldError);
    work.resolve('first');
    expect(await tracked).toBe('first');
    expect(broker.leases('q').has('a')).toBe(false);
    expect(await heartbeat.track(task, () => 'third', { exclusive: true })).toBe('third');
  });

  it('is renewed as long as it runs', async () => {
    const { heartbeat, broker, clock } = await start();
    const work = deferred<string>();
    const tracked = heartbeat.track(task, () => work.promise, { exclusive: true });
    await clock.advance(120_000);
    expect(broker.leases('q').get('a')).toBeGreaterThan(clock.now() + 24_000);
    work.resolve('long');
    expect(await tracked).toBe('long');
  });

  it('takes over a lease that has run out by the store’s clock', async () => {
    const { heartbeat, broker, clock } = await start();
    broker.claim('q', 'a', 1000);
    await clock.advance(2000);
    expect(await heartbeat.track(task, () => 'mine', { exclusive: true })).toBe('mine');
  });

  it('leaves a lease that is no longer ours to whoever has it', async () => {
    const { heartbeat, broker, clock } = await start();
    const work = deferred<string>();
    const outcome = heartbeat.track(task, () => work.promise, { exclusive: true }).catch((error: unknown) => error);
    await flush();
    broker.drop('q', 'a');
    await clock.advance(5000);
    const { expiresAt } = broker.claim('q', 'a', 90_000);
    work.resolve('late');
    expect(await outcome).toMatchObject({ reason: 'lost' });
    expect(broker.leases('q').get('a')).toBe(expiresAt);
  });

  it('waits for a renewal that is under way, so that the lease it releases is the one the store holds', async () => {
    const clock = new FakeClock();
    const broker = new ScriptedBroker(clock);
    const { heartbeat } = await start({}, { broker, clock });
    const work = deferred<string>();
    const renewal = deferred<{ expiresAt: number }>();
    broker.onRenew = () => renewal.promise;
    const tracked = heartbeat.track(task, () => work.promise, { exclusive: true });
    await clock.advance(5000);
    work.resolve('done');
    await flush();
    expect(broker.calls.filter((call) => call.startsWith('release'))).toEqual([]);
    const expiresAt = clock.now() + 77_000;
    renewal.resolve({ expiresAt });
    expect(await tracked).toBe('done');
    expect(broker.calls.filter((call) => call.startsWith('release'))).toEqual([`release q a remove ${expiresAt}`]);
  });

  it('gives back also what a renewal that went unanswered may have moved', async () => {
    const { heartbeat, broker, clock } = await start();
    const work = deferred<string>();
    const tracked = heartbeat.track(task, () => work.promise, { exclusive: true });
    await flush();
    const renew = broker.renew.bind(broker);
    broker.renew = async (...args) => {
      await renew(...args);
      throw new Error('the answer was lost');
    };
    await clock.advance(5000);
    work.resolve('done');
    expect(await tracked).toBe('done');
    expect(broker.leases('q').has('a')).toBe(false);
  });

  it('does not run at all when the store cannot be asked', async () => {
    const clock = new FakeClock();
    const broker = new ScriptedBroker(clock);
    broker.acquire = never;
    const { heartbeat } = await start({}, { broker, clock });
    const outcome = heartbeat
      .track(task, () => expect.unreachable(), { exclusive: true })
      .catch((error: unknown) => error);
    await clock.advance(2000);
    expect(await outcome).toMatchObject({ code: 'E_TIMEOUT' });
    expect(heartbeat.activeTasks).toEqual([]);
  });

  it('makes its own lease: it takes none', async () => {
    const { heartbeat, clock } = await start();
    const lease = new Lease(clock.now() + 9000, clock);
    await expect(heartbeat.track(task, () => 1, { exclusive: true, lease })).rejects.toMatchObject({ code: 'E_TASK' });
  });

  it('hands over a lease that can be asserted before what must not be done twice', async () => {
    const { heartbeat, clock } = await start();
    const tracked = heartbeat.track(
      task,
      ({ lease }: TaskContext) => {
        lease.assertHeld();
        clock.block(40_000);
        lease.assertHeld();
      },
      { exclusive: true },
    );
    await expect(tracked).rejects.toMatchObject({ code: 'E_LEASE_LOST', reason: 'expired' });
  });
});

describe('onIdle()', () => {
  it('resolves when the last task has finished', async () => {
    const { heartbeat } = await start();
    await heartbeat.onIdle();
    const work = deferred<number>();
    const tracked = heartbeat.track(task, () => work.promise);
    let idle = false;
    const told = heartbeat.onIdle().then(() => (idle = true));
    await flush();
    expect(idle).toBe(false);
    work.resolve(1);
    await Promise.all([tracked, told]);
    expect(idle).toBe(true);
  });
});
