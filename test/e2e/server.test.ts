import { afterEach, describe, expect, it } from 'vitest';
import { WORKER_STARTING } from '../../src/index.js';
import { FakeClock } from '../support/fake-clock.js';
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

describe('a server', () => {
  it('tells all nine facts of itself at each beat', async () => {
    const { heartbeat, broker, clock } = await start({
      concurrency: 7,
      queues: { emails: 3, low: 1 },
      strictPriority: true,
    });
    const startedAt = clock.now();
    heartbeat.track({ id: 'a', type: 't', queue: 'emails' }, never).catch(() => undefined);
    await clock.advance(5000);
    expect(broker.servers()).toMatchObject([
      {
        server: {
          host: 'box',
          pid: 4242,
          serverId: heartbeat.serverId,
          concurrency: 7,
          queues: { emails: 3, low: 1 },
          strictPriority: true,
          status: 'active',
          startedAt,
        },
        workers: [{ id: 'a' }],
      },
    ]);
    expect(heartbeat.serverId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('tells of each active task: identity, id, type, payload, queue, start and deadline', async () => {
    const { emitter, broker, clock } = await start();
    const startedAt = new Date(clock.now() - 500);
    const deadline = new Date(clock.now() + 60_000);
    const payload = Uint8Array.from([0, 255]);
    emitter.emit(WORKER_STARTING, {
      task: { id: 'a', type: 'email:send', queue: 'emails', payload },
      startedAt,
      deadline,
    });
    await clock.advance(5000);
    expect(broker.servers()[0]?.workers).toEqual([
      {
        id: 'a',
        type: 'email:send',
        queue: 'emails',
        payload,
        startedAt: startedAt.getTime(),
        deadline: deadline.getTime(),
      },
    ]);
  });

  it('beats at once at start, then at each interval, and counts for the ttl', async () => {
    const { broker, clock, heartbeat } = await start({ interval: 4000 });
    expect(broker.servers()[0]?.expiresAt).toBe(clock.now() + 8000);
    expect(heartbeat.lastBeatAt).toEqual(new Date(clock.now()));
    await clock.advance(3999);
    const before = heartbeat.lastBeatAt;
    await clock.advance(1);
    expect(heartbeat.lastBeatAt?.getTime()).toBe(Number(before) + 4000);
    expect(broker.servers()[0]?.expiresAt).toBe(clock.now() + 8000);
  });

  it('shows a task that has run for half a second within its first second', async () => {
    const { heartbeat, broker, clock, events } = await start({ interval: 60_000 });
    await clock.advance(5000);
    heartbeat.track({ id: 'a', type: 't', queue: 'q' }, never).catch(() => undefined);
    await clock.advance(999);
    expect(broker.servers()[0]?.workers).toMatchObject([{ id: 'a' }]);
    // It is no beat: no lease is renewed by it.
    expect(events.filter(({ name }) => name === 'heartbeat.beat')).toHaveLength(1);
  });

  it('comes up without waiting for its first beat', async () => {
    const clock = new FakeClock();
    const broker = new ScriptedBroker(clock);
    broker.onWrite = never;
    const { heartbeat } = await start({}, { broker, clock });
    expect(broker.calls).toEqual(['write']);
    expect(heartbeat.lastBeatAt).toBeUndefined();
    expect(heartbeat.healthy).toBe(false);
  });

  it('has a new id for each start', async () => {
    const first = await start();
    const second = await heartbeatApp();
    expect(first.heartbeat.serverId).not.toBe(second.heartbeat.serverId);
    await second.app.close();
  });

  it('says that it takes no new tasks, and that it does again, at once', async () => {
    const { heartbeat, broker, clock } = await start();
    const written = (): string | undefined => broker.servers()[0]?.server.status;
    heartbeat.stop();
    expect(heartbeat.status).toBe('stopped');
    await clock.advance(0);
    expect(written()).toBe('stopped');
    heartbeat.stop();
    heartbeat.resume();
    expect(heartbeat.status).toBe('active');
    await clock.advance(0);
    expect(written()).toBe('active');
  });

  it('is healthy as long as its last good beat is younger than the ttl', async () => {
    const clock = new FakeClock();
    const broker = new ScriptedBroker(clock);
    const { heartbeat, events } = await start({}, { broker, clock });
    expect(heartbeat.healthy).toBe(true);
    broker.onWrite = () => Promise.reject(new Error('READONLY'));
    await clock.advance(9999);
    expect(heartbeat.healthy).toBe(true);
    await clock.advance(1);
    expect(heartbeat.healthy).toBe(false);
    broker.onWrite = () => undefined;
    await clock.advance(2500);
    expect(heartbeat.healthy).toBe(true);
    expect(events.map(({ name }) => name)).toContain('heartbeat.beat.recovered');
  });

  it('beats when asked, and says what came of it', async () => {
    const { heartbeat, clock } = await start();
    heartbeat.track({ id: 'a', type: 't', queue: 'q' }, never).catch(() => undefined);
    expect(await heartbeat.beat()).toMatchObject({ ok: true, activeTasks: 1, failures: 0 });
    await clock.advance(1);
  });

  it('does not beat any more once it was shut down, and says so', async () => {
    const { app, heartbeat, broker } = await start();
    await app.close();
    expect(await heartbeat.beat()).toMatchObject({ ok: false, errors: [{ code: 'E_SERVER_CLOSED' }] });
    await expect(heartbeat.track({ id: 'a', type: 't', queue: 'q' }, () => 1)).rejects.toMatchObject({
      code: 'E_SERVER_CLOSED',
    });
    expect(broker.servers()).toEqual([]);
  });

  it('emits what becomes of its beats', async () => {
    const clock = new FakeClock();
    const broker = new ScriptedBroker(clock);
    const { heartbeat, events, log } = await start({}, { broker, clock });
    const identity = { host: 'box', pid: 4242, serverId: heartbeat.serverId };
    expect(events).toMatchObject([{ name: 'heartbeat.beat', payload: { ...identity, ok: true } }]);
    broker.onWrite = () => Promise.reject(new Error('LOADING'));
    await clock.advance(5050);
    expect(events.at(-1)).toMatchObject({
      name: 'heartbeat.beat.failed',
      payload: { ...identity, failures: 1, errors: [{ message: 'LOADING' }] },
    });
    await clock.advance(10_000);
    expect(log.ours('warn')).toHaveLength(1);
    broker.onWrite = () => undefined;
    await clock.advance(2500);
    const recovered = events.find(({ name }) => name === 'heartbeat.beat.recovered');
    expect(Number(recovered?.payload['outage'])).toBeGreaterThan(9000);
    expect(log.ours('warn')).toHaveLength(1);
    expect(log.ours('log').filter((line) => line.startsWith('Beating again'))).toHaveLength(1);
  });
});
