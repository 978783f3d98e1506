import {
  Controller,
  Get,
  Global,
  Inject,
  Injectable,
  Module,
  Optional,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  BEAT,
  BEAT_FAILED,
  BEAT_RECOVERED,
  HEARTBEAT_CLOCK,
  HeartbeatModule,
  HeartbeatService,
  LEASE_LOST,
  LeaseLostError,
  MemoryBroker,
  SERVER_CLEARED,
  SERVER_DRAINING,
  ServerClosedError,
  WORKER_FINISHED,
  WORKER_STARTING,
  type Clock,
  type HeartbeatModuleOptions,
  type Lease,
  type ServerClearedEvent,
  type TaskContext,
} from '../../src/index.js';
import { flush } from '../support/fake-clock.js';
import { NestLog } from '../support/nest-log.js';
import { RedisServer } from '../support/redis-server.js';
import {
  endOf,
  endWithTest,
  eventually,
  planned,
  quiet,
  startApp,
  type HeartbeatApp,
} from './support/heartbeat-app.js';
import { ListedClock } from './support/listed-clock.js';
import { RecordingBroker } from './support/recording-broker.js';

const INTERVAL_MS = 5000;
const BEAT_TIMEOUT_MS = 2000;
const TASK = { id: '1', type: 'email:send', queue: 'emails' };

/** Something that a test lets happen when it wants to. */
function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('shutdown, in whatever order the app imports its modules', () => {
  /** Longer than the lease, and shorter than the time to drain: what is not renewed, or not heard of, shows. */
  const WORK_MS = 40_000;
  const options: HeartbeatModuleOptions = { leaseDuration: 15_000, drainTimeout: 100_000 };

  /** What the loop of an app's workers saw. */
  interface Story {
    validAtEnd?: boolean;
    startedLate?: boolean;
    drainingAt?: string;
    lost: number;
    hooks: string[];
  }

  /** A worker that stops its loop in its last hook only: it still takes up tasks while the app is shutting down. */
  function workerModule(story: Story, broker: MemoryBroker, finishes: 'in its hook' | 'after its hook'): Type {
    @Injectable()
    class Worker implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
      private lease: Lease | undefined;

      constructor(
        @Inject(EventEmitter2) private readonly emitter: EventEmitter2,
        @Inject(HeartbeatService) private readonly heartbeat: HeartbeatService,
        @Inject(HEARTBEAT_CLOCK) private readonly clock: Clock,
      ) {
        emitter.on(LEASE_LOST, () => (story.lost += 1));
        emitter.on(SERVER_DRAINING, () => (story.drainingAt = story.hooks.at(-1) ?? 'running'));
      }

      onApplicationBootstrap(): void {
        this.lease = this.#take('1');
      }

      onModuleDestroy(): void {
        story.hooks.push('onModuleDestroy');
      }

      beforeApplicationShutdown(): void {
        story.hooks.push('beforeApplicationShutdown');
        this.#take('late');
        story.startedLate = this.heartbeat.activeTasks.some(({ id }) => id === 'late');
      }

      async onApplicationShutdown(): Promise<void> {
        story.hooks.push('onApplicationShutdown');
        const worked = new Promise<void>((resolve) => {
          this.clock.setTimeout(() => {
            this.#finishAll();
            resolve();
          }, WORK_MS);
        });
        if (finishes === 'in its hook') await worked;
      }

      #take(id: string): Lease {
        broker.claim('emails', id, 15_000);
        const lease = this.heartbeat.leaseUntil(this.clock.now() + 15_000);
        this.emitter.emit(WORKER_STARTING, { task: { ...TASK, id }, lease });
        return lease;
      }

      #finishAll(): void {
        story.validAtEnd = this.lease?.isValid ?? false;
        for (const id of ['1', 'late']) this.emitter.emit(WORKER_FINISHED, { task: { ...TASK, id } });
      }
    }

    @Module({ providers: [Worker] })
    class WorkerModule {}
    return WorkerModule;
  }

  const orders = permutations(['us', 'events', 'schedule', 'worker'] as const);
  const cases = orders.flatMap((order) =>
    [true, false].flatMap((isGlobal) =>
      (['in its hook', 'after its hook'] as const).map((finishes) => ({
        order,
        isGlobal,
        finishes,
        title: `${order.join(', ')}${isGlobal ? ' (isGlobal)' : ''}, worker finishes ${finishes}`,
      })),
    ),
  );

  it.each(cases.map((it) => [it.title, it] as const))(
    'no lease is lost, the drain ends with the last task, and nothing is left: %s',
    async (_, { order, isGlobal, finishes }) => {
      const clock = new ListedClock();
      const broker = new RecordingBroker(clock);
      const story: Story = { lost: 0, hooks: [] };
      const worker = workerModule(story, broker, finishes);
      const { module, heartbeat, log } = await startApp({
        clock,
        broker,
        options: { ...options, isGlobal },
        imports: (us) =>
          order.map((name) => {
            if (name === 'events') return EventEmitterModule.forRoot();
            if (name === 'schedule') return ScheduleModule.forRoot();
            // Where we are not global, whoever injects us imports us.
            return name === 'us' ? us : { module: worker, imports: isGlobal ? [] : [us] };
          }),
      });
      await clock.advance(2 * INTERVAL_MS);
      expect(heartbeat.activeTasks).toHaveLength(1);

      const took = await endOf(module.close(), clock);
      expect(story).toMatchObject({ validAtEnd: true, startedLate: true, lost: 0 });
      expect(story.drainingAt).toMatch(/running|onModuleDestroy/);
      expect(took).toBeGreaterThanOrEqual(WORK_MS);
      expect(took).toBeLessThan(WORK_MS + 1000);
      expect(broker.written.at(-1)).toMatchObject({ status: 'closed' });
      expect(broker.count('writeState')).toBeGreaterThanOrEqual(2 + (2 * INTERVAL_MS + WORK_MS) / INTERVAL_MS);
      expect(broker.count('clear')).toBe(1);
      expect(broker.servers()).toEqual([]);
      const calls = [...broker.calls];
      expect(calls.at(-1)).toBe('clear');
      await clock.advance(10 * INTERVAL_MS);
      expect(broker.calls).toEqual(calls);
      expect([...log.ours('warn'), ...log.ours('error')]).toEqual([]);
    },
  );

  it.each(['in its hook', 'after its hook'] as const)(
    'a worker module deep in the app, which finishes %s, is asked to stop before we wait for it',
    async (finishes) => {
      const clock = new ListedClock();
      const broker = new RecordingBroker(clock);
      const story: Story = { lost: 0, hooks: [] };
      const worker = workerModule(story, broker, finishes);
      const { module } = await startApp({
        clock,
        broker,
        options: { ...options, isGlobal: true },
        imports: (us) => [us, EventEmitterModule.forRoot(), nested(nested(nested(worker)))],
      });
      const took = await endOf(module.close(), clock);
      expect(story).toMatchObject({ validAtEnd: true, startedLate: true, lost: 0 });
      expect(took).toBeLessThan(WORK_MS + 1000);
      expect(broker.servers()).toEqual([]);
    },
  );

  it('a global worker module that is imported before us has its last hook after ours: it is waited for no longer than drainTimeout', async () => {
    const clock = new ListedClock();
    const broker = new RecordingBroker(clock);
    const story: Story = { lost: 0, hooks: [] };
    const worker = workerModule(story, broker, 'in its hook');
    const drainTimeout = 20_000;
    const { module } = await startApp({
      clock,
      broker,
      options: { ...options, isGlobal: true, drainTimeout },
      imports: (us) => [EventEmitterModule.forRoot(), { module: worker, global: true }, us],
    });
    const took = await endOf(module.close(), clock);
    expect(took).toBeLessThan(drainTimeout + WORK_MS + 1000);
    // Nest asks it to stop only after us: its tasks are told, and their leases are given back.
    expect(story).toMatchObject({ validAtEnd: false, lost: 2 });
    expect(Math.max(...broker.leases('emails').values())).toBeLessThanOrEqual(clock.now() - WORK_MS + 1000);
    expect(broker.servers()).toEqual([]);
  });
});

describe('the steps of a shutdown', () => {
  const events = (): DynamicModule => EventEmitterModule.forRoot();

  it('onModuleDestroy writes `closed` and emits heartbeat.server.draining, with the number of active tasks', async () => {
    const release = gate();
    @Injectable()
    class Sleeper implements BeforeApplicationShutdown {
      async beforeApplicationShutdown(): Promise<void> {
        await release.opened;
      }
    }
    const { module, clock, broker, heartbeat } = await startApp({
      imports: (us) => [events(), us],
      providers: [Sleeper],
    });
    const draining = vi.fn();
    module.get(EventEmitter2).on(SERVER_DRAINING, draining);
    const tracked = heartbeat.track(TASK, () => release.opened);
    const closed = module.close();
    await flush();
    expect(heartbeat.status).toBe('closed');
    expect(broker.written.at(-1)).toEqual({ status: 'closed', workers: ['1'] });
    expect(draining).toHaveBeenCalledTimes(1);
    expect(draining).toHaveBeenCalledWith(
      expect.objectContaining({ serverId: heartbeat.serverId, pid: process.pid, activeTasks: 1 }),
    );
    expect(broker.count('clear')).toBe(0);
    release.open();
    await endOf(closed, clock);
    await tracked;
    expect(broker.count('clear')).toBe(1);
  });

  it.each(['before', 'after'])(
    'beats and renewals go on while another module sleeps in beforeApplicationShutdown, as health checks do, %s ScheduleModule clears its intervals',
    async (when) => {
      const release = gate();
      @Injectable()
      class Sleeper implements BeforeApplicationShutdown {
        async beforeApplicationShutdown(): Promise<void> {
          await release.opened;
        }
      }
      @Global()
      @Module({ providers: [Sleeper] })
      class SleepyModule {}
      const clock = new ListedClock();
      const { module, broker, heartbeat } = await startApp({
        clock,
        // Nest runs the hooks of what was imported last first.
        imports: (us) =>
          when === 'after'
            ? [SleepyModule, events(), ScheduleModule.forRoot(), us]
            : [events(), ScheduleModule.forRoot(), us, SleepyModule],
        options: { leaseDuration: 15_000 },
      });
      broker.claim('emails', '1', 15_000);
      const lease = heartbeat.leaseUntil(clock.now() + 15_000);
      void heartbeat.track(TASK, () => release.opened, { lease });
      await clock.advance(INTERVAL_MS);
      const closed = module.close();
      await flush();
      const before = broker.count('writeState');
      await clock.advance(12 * INTERVAL_MS);
      expect(broker.count('writeState') - before).toBe(12);
      expect(lease.isValid).toBe(true);
      expect(broker.leases('emails').get('1')).toBeGreaterThan(clock.now() + 5000);
      expect(broker.written.slice(before).map(({ status }) => status)).toEqual(Array(12).fill('closed'));
      release.open();
      expect(await endOf(closed, clock)).toBeLessThan(1000);
      expect(broker.count('clear')).toBe(1);
    },
  );

  it('beats go on while a request that is in flight keeps the HTTP server from closing', async () => {
    const arrived = gate();
    const release = gate();
    @Controller()
    class SlowController {
      constructor(@Inject(HeartbeatService) private readonly heartbeat: HeartbeatService) {}

      @Get()
      async work(): Promise<string> {
        return this.heartbeat.track(TASK, async () => {
          arrived.open();
          await release.opened;
          return 'done';
        });
      }
    }
    const clock = new ListedClock();
    const { builder, broker } = planned({
      clock,
      imports: (us) => [us, ScheduleModule.forRoot()],
      controllers: [SlowController],
    });
    const app = (await builder.compile()).createNestApplication();
    endWithTest(app, clock);
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    const answer = fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
    await arrived.opened;
    const closed = app.close();
    await flush();
    const before = broker.count('writeState');
    await clock.advance(4 * INTERVAL_MS);
    expect(broker.count('writeState') - before).toBe(4);
    expect(broker.written.at(-1)).toEqual({ status: 'closed', workers: ['1'] });
    expect(broker.count('clear')).toBe(0);
    release.open();
    expect(await (await answer).text()).toBe('done');
    await closed;
    expect(broker.servers()).toEqual([]);
  });

  it('a task that never ends is told after drainTimeout (reason `shutdown`), and its lease runs out in the store now', async () => {
    const { module, clock, broker, heartbeat, log } = await startApp({
      imports: (us) => [events(), us],
      options: { drainTimeout: 12_000 },
    });
    const lost = vi.fn();
    module.get(EventEmitter2).on(LEASE_LOST, lost);
    broker.claim('emails', '1', 30_000);
    const lease = heartbeat.leaseUntil(clock.now() + 30_000);
    let signal: AbortSignal | undefined;
    const forEver = new Promise(() => undefined);
    const work = (context: TaskContext): Promise<unknown> => {
      signal = context.signal;
      return forEver;
    };
    void heartbeat.track(TASK, work, { lease });
    await clock.advance(INTERVAL_MS);

    const took = await endOf(module.close(), clock);
    expect(took).toBeGreaterThanOrEqual(12_000);
    expect(took).toBeLessThan(12_500);
    expect(lease.reason).toBe('shutdown');
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toBeInstanceOf(LeaseLostError);
    expect(signal?.reason).toMatchObject({ reason: 'shutdown' });
    expect(lost).toHaveBeenCalledTimes(1);
    expect(lost).toHaveBeenCalledWith(expect.objectContaining({ reason: 'shutdown' }));
    const score = broker.leases('emails').get('1') ?? 0;
    expect(score).toBeLessThanOrEqual(clock.now());
    expect(score).toBeGreaterThan(clock.now() - 1500);
    expect(broker.servers()).toEqual([]);
    expect(log.ours('warn').filter((line) => line.includes('(shutdown)'))).toHaveLength(1);
  });

  it('an exclusive task that stops when it is told ends as lost, and frees its lease', async () => {
    const { module, clock, broker, heartbeat } = await startApp({ options: { drainTimeout: 1000 } });
    const tracked = heartbeat.track(
      TASK,
      ({ signal }) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            resolve();
          });
        }),
      { exclusive: true },
    );
    const outcome = expect(tracked).rejects.toMatchObject({ code: 'E_LEASE_LOST', reason: 'shutdown' });
    await flush();
    expect(broker.leases('emails').size).toBe(1);
    await endOf(module.close(), clock);
    await outcome;
    expect(broker.leases('emails').get('1') ?? 0).toBeLessThanOrEqual(clock.now());
  });

  it('drainTimeout 0 waits for nobody', async () => {
    const { module, clock, broker, heartbeat } = await startApp({ options: { drainTimeout: 0 } });
    void heartbeat.track(TASK, () => new Promise(() => undefined));
    expect(await endOf(module.close(), clock)).toBeLessThan(100);
    expect(broker.servers()).toEqual([]);
  });

  it('a shutdown without tasks takes no time', async () => {
    const { module, clock, broker } = await startApp();
    expect(await endOf(module.close(), clock)).toBe(0);
    expect(broker.servers()).toEqual([]);
  });

  it('two close() at once, and one more later, wait for one and the same clear', async () => {
    const { module, clock, broker, heartbeat } = await startApp({ imports: (us) => [events(), us] });
    const release = gate();
    void heartbeat.track(TASK, () => release.opened);
    const ended: string[] = [];
    const first = module.close().then(() => ended.push('first'));
    const second = module.close().then(() => ended.push('second'));
    await clock.advance(2 * INTERVAL_MS);
    expect(ended).toEqual([]);
    release.open();
    await endOf(Promise.all([first, second]), clock);
    expect(ended).toHaveLength(2);
    const calls = [...broker.calls];
    expect(broker.count('clear')).toBe(1);
    await endOf(module.close(), clock);
    expect(broker.calls).toEqual(calls);
  });

  it('hooks that run interleaved, as two close() of Nest 11 do, wait for the same end', async () => {
    const { clock, broker, heartbeat, log } = await startApp({
      imports: (us) => [events(), ScheduleModule.forRoot(), us],
    });
    const release = gate();
    void heartbeat.track(TASK, () => release.opened);
    const ended: number[] = [];
    const close = async (which: number): Promise<void> => {
      await heartbeat.onModuleDestroy();
      await heartbeat.onApplicationShutdown();
      expect(broker.count('clear')).toBe(1);
      ended.push(which);
    };
    const both = Promise.all([close(1), close(2)]);
    await clock.advance(INTERVAL_MS);
    expect(ended).toEqual([]);
    release.open();
    await endOf(both, clock);
    expect(ended).toHaveLength(2);
    expect(log.ours('warn')).toEqual([]);
  });

  it('hooks that run twice do not make a worker be heard twice', async () => {
    const { module, heartbeat } = await startApp({ imports: (us) => [events(), us] });
    const emitter = module.get(EventEmitter2);
    await Promise.all([heartbeat.onModuleDestroy(), heartbeat.onModuleDestroy()]);
    emitter.emit(WORKER_STARTING, { task: TASK });
    expect(heartbeat.activeTasks).toHaveLength(1);
    emitter.emit(WORKER_FINISHED, { task: TASK });
  });

  it("leaves no listener on the app's emitter, after a second close() either", async () => {
    const { module, clock } = await startApp({ imports: (us) => [events(), us] });
    const emitter = module.get(EventEmitter2);
    await endOf(module.close(), clock);
    expect(emitter.listenersAny()).toEqual([]);
    await endOf(module.close(), clock);
    expect(emitter.listenersAny()).toEqual([]);
    expect(emitter.listeners(WORKER_STARTING)).toEqual([]);
    expect(emitter.listeners(WORKER_FINISHED)).toEqual([]);
  });

  it.each<[name: string, event: string | symbol | (string | symbol)[]]>([
    ['a symbol', Symbol('app.event')],
    ['an array with a symbol', ['app', Symbol('event')]],
  ])('the app may emit an event whose name is %s while we drain', async (_, event) => {
    const { module, clock, heartbeat } = await startApp({
      imports: (us) => [EventEmitterModule.forRoot({ wildcard: Array.isArray(event) }), us],
    });
    const release = gate();
    void heartbeat.track(TASK, () => release.opened);
    const closed = module.close();
    await flush();
    expect(() => module.get(EventEmitter2).emit(event, {})).not.toThrow();
    release.open();
    await endOf(closed, clock);
  });

  it('a finished whose name is an array is heard while we drain', async () => {
    const { module, clock, heartbeat } = await startApp({
      imports: (us) => [EventEmitterModule.forRoot({ wildcard: true }), us],
    });
    const emitter = module.get(EventEmitter2);
    emitter.emit(['heartbeat', 'worker', 'starting'], { task: TASK });
    const closed = module.close();
    await clock.advance(INTERVAL_MS);
    expect(heartbeat.activeTasks).toHaveLength(1);
    emitter.emit(['heartbeat', 'worker', 'finished'], { task: TASK });
    expect(await endOf(closed, clock)).toBeLessThan(100);
  });

  it('heartbeat.server.cleared comes last, without an error when all is gone', async () => {
    const { module, clock, broker } = await startApp({ imports: (us) => [events(), us] });
    const cleared: ServerClearedEvent[] = [];
    module.get(EventEmitter2).on(SERVER_CLEARED, (event: ServerClearedEvent) => {
      expect(broker.servers()).toEqual([]);
      cleared.push(event);
    });
    await endOf(module.close(), clock);
    expect(cleared).toHaveLength(1);
    expect(cleared[0]?.error).toBeUndefined();
  });

  it('track() is refused once this server was cleared', async () => {
    const { module, clock, heartbeat } = await startApp();
    await endOf(module.close(), clock);
    await expect(heartbeat.track(TASK, () => 1)).rejects.toThrow(ServerClosedError);
    expect(await heartbeat.beat()).toMatchObject({ ok: false });
    expect(heartbeat.status).toBe('closed');
  });

  it('an exclusive task whose lease is granted only after the clear is not run', async () => {
    const clock = new ListedClock();
    const granted = gate();
    class SlowToGrant extends RecordingBroker {
      override async acquire(...args: Parameters<RecordingBroker['acquire']>): ReturnType<RecordingBroker['acquire']> {
        const grant = await super.acquire(...args);
        await granted.opened;
        return grant;
      }
    }
    const { module, heartbeat } = await startApp({ clock, broker: new SlowToGrant(clock) });
    const work = vi.fn();
    const tracked = heartbeat.track(TASK, work, { exclusive: true }).catch((error: unknown) => error);
    await flush();
    const order: string[] = [];
    work.mockImplementation(() => order.push('worked'));
    const closed = module.close().then(() => order.push('closed'));
    await flush();
    granted.open();
    await endOf(closed, clock);
    await tracked;
    // Either the shutdown waits for the task, or the task is refused: nobody may work unseen.
    expect(order).not.toEqual(['closed', 'worked']);
  });
});

describe('a store that fails at shutdown', () => {
  it.each<[name: string, methods: ('writeState' | 'clear' | 'renew' | 'release')[]]>([
    ['writeState', ['writeState']],
    ['clear', ['clear']],
    ['everything', ['writeState', 'clear', 'renew', 'release']],
  ])('close() ends within the limit when %s never answers', async (_, methods) => {
    const { module, clock, broker, heartbeat, log } = await startApp({ options: { drainTimeout: 3000 } });
    broker.claim('emails', '1', 30_000);
    const lease = heartbeat.leaseUntil(clock.now() + 30_000);
    void heartbeat.track(TASK, () => new Promise(() => undefined), { lease });
    for (const method of methods) broker.hanging.add(method);
    // A beat and a half of its time to begin with, so that the close finds one under way.
    const asked = heartbeat.beat();
    await clock.advance(BEAT_TIMEOUT_MS / 4);
    const took = await endOf(module.close(), clock);
    await asked;
    // The beat that runs and the one that says `closed`, the drain, the beat that runs then, give back, clear.
    expect(took).toBeLessThanOrEqual(3000 + 5 * BEAT_TIMEOUT_MS);
    if (methods.includes('clear')) {
      expect(log.ours('warn').filter((line) => line.includes('could not be removed'))).toHaveLength(1);
    }
    const calls = broker.calls.length;
    await clock.advance(10 * INTERVAL_MS);
    expect(broker.calls).toHaveLength(calls);
    expect(clock.pending).toBe(0);
  });

  it('a close during a beat that hangs ends within the limit, and the beat is not followed by another', async () => {
    const { module, clock, broker } = await startApp();
    broker.hanging.add('writeState');
    await clock.advance(INTERVAL_MS + 100);
    expect(broker.count('writeState')).toBe(2);
    const took = await endOf(module.close(), clock);
    // What is left of the beat, one that says `closed`, the retry that may run, and the clear, which answers.
    expect(took).toBeLessThanOrEqual(3 * BEAT_TIMEOUT_MS);
    expect(broker.servers()).toEqual([]);
    const calls = broker.calls.length;
    await clock.advance(10 * INTERVAL_MS);
    expect(broker.calls).toHaveLength(calls);
  });

  it('a clear that fails is one warning, told with heartbeat.server.cleared, and close() resolves', async () => {
    const { module, clock, broker, log } = await startApp({
      imports: (us) => [EventEmitterModule.forRoot(), ScheduleModule.forRoot(), us],
    });
    const cleared: ServerClearedEvent[] = [];
    module.get(EventEmitter2).on(SERVER_CLEARED, (event: ServerClearedEvent) => cleared.push(event));
    broker.failNext('clear', Infinity);
    await endOf(module.close(), clock);
    expect(cleared.map(({ error }) => error?.message)).toEqual(['no clear today']);
    expect(log.ours('warn')).toHaveLength(1);
    expect(log.ours('warn')[0]).toContain('no clear today');
  });

  it('a clear that fails once is tried again, and nobody is alarmed', async () => {
    const { module, clock, broker, log } = await startApp({
      imports: (us) => [EventEmitterModule.forRoot(), ScheduleModule.forRoot(), us],
    });
    broker.failNext('clear');
    expect(await endOf(module.close(), clock)).toBeLessThan(BEAT_TIMEOUT_MS);
    expect(broker.servers()).toEqual([]);
    expect(log.ours('warn')).toEqual([]);
  });

  it('a beat that hangs when the last task ends is not heard of after heartbeat.server.cleared', async () => {
    const { module, clock, broker, heartbeat, log } = await startApp({
      imports: (us) => [EventEmitterModule.forRoot({ wildcard: true }), ScheduleModule.forRoot(), us],
    });
    const heard: string[] = [];
    for (const name of [BEAT, BEAT_FAILED, BEAT_RECOVERED, SERVER_CLEARED]) {
      module.get(EventEmitter2).onAny((event) => {
        if (event === name) heard.push(name);
      });
    }
    const release = gate();
    void heartbeat.track(TASK, () => release.opened);
    const closed = module.close();
    await clock.advance(INTERVAL_MS - 100);
    broker.hanging.add('writeState');
    await clock.advance(200);
    release.open();
    await endOf(closed, clock);
    await clock.advance(2 * INTERVAL_MS);
    expect(heard.at(-1)).toBe(SERVER_CLEARED);
    expect(log.ours('warn')).toEqual([]);
    expect(broker.servers()).toEqual([]);
  });
});

describe('when nothing handles SIGTERM', () => {
  const host = (handles: boolean) => ({
    pid: 1,
    hostname: () => 'h',
    processors: () => 1,
    uuid: () => crypto.randomUUID(),
    random: () => 0,
    handles: (signal: string) => signal === 'SIGTERM' && handles,
  });

  it('one warning comes one interval after the start', async () => {
    const { clock, log } = await startApp({
      host: host(false),
      imports: (us) => [us, EventEmitterModule.forRoot(), ScheduleModule.forRoot()],
    });
    await clock.advance(INTERVAL_MS - 1);
    expect(log.ours('warn')).toEqual([]);
    await clock.advance(1);
    expect(log.ours('warn')).toHaveLength(1);
    expect(log.ours('warn')[0]).toContain('app.enableShutdownHooks()');
    await clock.advance(5 * INTERVAL_MS);
    expect(log.ours('warn')).toHaveLength(1);
  });

  it('there is none where somebody does, or where the app was closed before', async () => {
    const imports = (us: DynamicModule) => [us, EventEmitterModule.forRoot(), ScheduleModule.forRoot()];
    const handled = await startApp({ host: host(true), imports });
    await handled.clock.advance(3 * INTERVAL_MS);
    expect(handled.log.ours('warn')).toEqual([]);
    const closed = await startApp({ host: host(false), imports });
    await endOf(closed.module.close(), closed.clock);
    await closed.clock.advance(3 * INTERVAL_MS);
    expect(closed.log.ours('warn')).toEqual([]);
  });

  it("Nest's enableShutdownHooks() after the start is seen, and there is no warning", async () => {
    const { thisProcess } = await import('../../src/host-process.js');
    const before = process.listenerCount('SIGTERM');
    // Otherwise this test would prove nothing.
    expect(before).toBe(0);
    const { module, clock, log } = await startApp({
      host: thisProcess,
      imports: (us) => [us, EventEmitterModule.forRoot(), ScheduleModule.forRoot()],
    });
    module.enableShutdownHooks(['SIGTERM']);
    expect(process.listenerCount('SIGTERM')).toBe(before + 1);
    await clock.advance(INTERVAL_MS);
    expect(log.ours('warn')).toEqual([]);
  });
});

describe('an app that does not come up', () => {
  const failing = (hook: 'onModuleInit' | 'constructor'): Type => {
    @Injectable()
    class Broken implements OnModuleInit {
      constructor() {
        if (hook === 'constructor') throw new Error('broken');
      }

      onModuleInit(): void {
        throw new Error('broken');
      }
    }
    return Broken;
  };

  it.each(['onModuleInit', 'constructor'] as const)(
    'acquires nothing when another provider fails in its %s: no call, no timer, no interval',
    async (hook) => {
      const { builder, clock, broker } = planned({
        imports: (us) => [us, EventEmitterModule.forRoot(), ScheduleModule.forRoot()],
        providers: [failing(hook)],
      });
      const started = builder.compile().then((module) => module.init());
      await expect(started).rejects.toThrow('broken');
      await clock.advance(3 * INTERVAL_MS);
      expect(broker.calls).toEqual([]);
      expect(clock.pending).toBe(0);
    },
  );

  it('a close() after a failed start clears what had begun, and never what had not', async () => {
    @Injectable()
    class Broken implements OnApplicationBootstrap {
      onApplicationBootstrap(): void {
        throw new Error('broken');
      }
    }
    const { builder, clock, broker } = planned({ providers: [Broken] });
    const module = await builder.compile();
    await expect(module.init()).rejects.toThrow('broken');
    await endOf(module.close(), clock);
    expect(broker.servers()).toEqual([]);
    await clock.advance(3 * INTERVAL_MS);
    expect(broker.calls.at(-1)).toBe('clear');

    const early = planned({ providers: [failing('onModuleInit')] });
    const neverStarted = await early.builder.compile();
    await expect(neverStarted.init()).rejects.toThrow('broken');
    await endOf(neverStarted.close(), early.clock);
    expect(early.broker.calls).toEqual([]);
  });
});

describe('with a real Redis', () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.url);
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  beforeEach(async () => {
    await redis.flushall();
  });

  /** Records would outlive the test: what is gone was removed. */
  const LONG_TTL_MS = 600_000;
  const options = { interval: 1000, ttl: LONG_TTL_MS, leaseDuration: 600_000, beatTimeout: 500, drainTimeout: 2000 };

  interface RealApp {
    readonly app: Awaited<ReturnType<typeof NestFactory.createApplicationContext>>;
    readonly heartbeat: HeartbeatService;
    readonly log: NestLog;
  }

  async function start(more: HeartbeatModuleOptions = {}, awaitBeat = true): Promise<RealApp> {
    const log = new NestLog();
    @Module({
      imports: [
        EventEmitterModule.forRoot(),
        HeartbeatModule.forRoot({ connection: server.url, ...options, ...more }),
        ScheduleModule.forRoot(),
      ],
    })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, quiet(log));
    app.enableShutdownHooks(['SIGTERM']);
    endWithTest(app);
    const heartbeat = app.get(HeartbeatService, { strict: false });
    if (awaitBeat) await eventually('the first beat', () => heartbeat.lastBeatAt !== undefined);
    return { app, heartbeat, log };
  }

  it('both records and both index entries are removed, and nothing is written after', async () => {
    const { app, heartbeat } = await start();
    const release = gate();
    const tracked = heartbeat.track(TASK, () => release.opened);
    await heartbeat.beat();
    const keys = (await redis.keys('*')).sort();
    expect(keys).toHaveLength(4);
    expect(keys[0]).toBe('asynq:servers');
    expect(await redis.zcard('asynq:workers')).toBe(1);
    const monitor = await redis.monitor();
    const commands: string[] = [];
    monitor.on('monitor', (_: string, [name = '']: string[]) => commands.push(name.toLowerCase()));
    const closed = app.close();
    release.open();
    await Promise.all([closed, tracked]);
    expect(await redis.keys('*')).toEqual([]);
    // Longer than an interval: a beat that was still to come would have come.
    await new Promise((resolve) => setTimeout(resolve, 1300));
    monitor.disconnect();
    const afterClear = commands.slice(commands.lastIndexOf('del') + 1);
    expect(afterClear.filter((name) => ['zadd', 'psetex', 'hset', 'multi', 'pexpire'].includes(name))).toEqual([]);
    expect(commands.filter((name) => name === 'zrem')).toHaveLength(2);
    expect(await redis.keys('*')).toEqual([]);
  });

  it('the lease of a task that never ends is set to now in its sorted set', async () => {
    const { app, heartbeat } = await start({ drainTimeout: 100 });
    const until = Math.floor(Date.now() / 1000) + 600;
    await redis.zadd('asynq:{emails}:lease', until, '1');
    void heartbeat.track(TASK, () => new Promise(() => undefined), { lease: heartbeat.leaseUntil(until * 1000) });
    await heartbeat.beat();
    await app.close();
    const score = Number(await redis.zscore('asynq:{emails}:lease', '1'));
    expect(Math.abs(score - Date.now() / 1000)).toBeLessThan(3);
    expect(score).toBeLessThanOrEqual(Date.now() / 1000);
    expect(await redis.keys('asynq:servers*')).toEqual([]);
  });

  it('a beat that Redis answers only after the close() has begun re-creates nothing', async () => {
    const { app, heartbeat } = await start({ interval: 4000, beatTimeout: 3000 });
    void heartbeat.track(TASK, () => new Promise(() => undefined));
    server.freeze();
    const late = heartbeat.beat();
    const closed = app.close();
    await new Promise((resolve) => setTimeout(resolve, 300));
    server.thaw();
    await Promise.all([late, closed]);
    expect(await redis.keys('*')).toEqual([]);
  });

  it('a close() during a beat that hangs in a frozen Redis ends in time, with one warning', async () => {
    const { app, heartbeat, log } = await start();
    server.freeze();
    const late = heartbeat.beat();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const begun = performance.now();
    await app.close();
    const took = performance.now() - begun;
    await late;
    server.thaw();
    // The beat that runs, the one that says `closed`, one that may run in the end, and the clear.
    expect(took).toBeLessThan(4 * options.beatTimeout + 500);
    expect(log.ours('warn').filter((line) => line.includes('could not be removed'))).toHaveLength(1);
  });

  it('what a frozen Redis is left with, when it goes on after the close(), runs out by itself', async () => {
    const ttl = 2000;
    const { app, heartbeat } = await start({ ttl, leaseDuration: 3000 });
    void heartbeat.track(TASK, () => new Promise(() => undefined));
    server.freeze();
    const late = heartbeat.beat();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await app.close();
    await late;
    server.thaw();
    await eventually('the records run out', async () => (await redis.keys('asynq:*:{*')).length === 0, ttl + 1000);
    const index = await redis.zrange('asynq:servers', '(' + String(Date.now() / 1000), '+inf', 'BYSCORE');
    expect(index).toEqual([]);
  });

  it.each([
    { forbidden: 'zrem', index: 1, records: 0 },
    { forbidden: 'del', index: 0, records: 0 },
  ])(
    'a clear that may not $forbidden still does the rest, and logs one warning',
    async ({ forbidden, index, records }) => {
      await redis.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', '~*', '&*', '+@all', `-${forbidden}`);
      // The first write begins with DEL, which this user must be allowed for a beat to succeed.
      const { app, log } = await start(
        { connection: { host: '127.0.0.1', port: server.port, username: 'app', password: 'secret' } },
        forbidden !== 'del',
      );
      if (forbidden === 'del') await eventually('the index', async () => (await redis.zcard('asynq:servers')) === 1);
      await app.close();
      expect(await redis.keys('asynq:*:{*')).toHaveLength(records);
      expect(await redis.zcard('asynq:servers')).toBe(index);
      const warnings = log.ours('warn').filter((line) => line.includes('could not be removed'));
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(/NOPERM/);
      expect(warnings[0]).not.toContain('secret');
    },
  );

  it('close() ends in time when Redis is gone', async () => {
    const own = await RedisServer.start();
    const { app, log } = await start({ connection: own.url });
    await own.kill();
    const begun = performance.now();
    await app.close();
    expect(performance.now() - begun).toBeLessThan(4 * options.beatTimeout + 500);
    expect(log.ours('warn').filter((line) => line.includes('could not be removed'))).toHaveLength(1);
    await own.stop();
  });

  it("the app's own ioredis client is never closed, and our connection is", async () => {
    const theirs = new Redis(server.url, { connectionName: 'theirs' });
    const connections = async (): Promise<number> =>
      String(await redis.client('LIST'))
        .split('\n')
        .filter((line) => line.includes('name=theirs ')).length;
    try {
      await theirs.ping();
      expect(await connections()).toBe(1);
      const { app } = await start({ connection: theirs });
      expect(await connections()).toBe(2);
      await app.close();
      expect(theirs.status).toBe('ready');
      expect(await theirs.set('still', 'usable')).toBe('OK');
      await eventually('our connection is closed', async () => (await connections()) === 1);
    } finally {
      theirs.disconnect();
    }
  });

  it("the app's own client may be closed before us: the clear goes through our connection", async () => {
    const theirs = new Redis(server.url);
    const { app } = await start({ connection: theirs });
    await theirs.quit();
    await app.close();
    expect(await redis.keys('*')).toEqual([]);
  });

  it('a broker that the app handed in is not closed', async () => {
    const { module, clock, broker }: HeartbeatApp = await startApp();
    await endOf(module.close(), clock);
    expect(broker.count('clear')).toBe(1);
    expect(broker.count('close')).toBe(0);
  });

  it('an app that fails in onModuleInit has opened no connection', async () => {
    const before = Number(/total_connections_received:(\d+)/.exec(await redis.info('stats'))?.[1]);
    @Injectable()
    class Broken implements OnModuleInit {
      constructor(@Optional() @Inject(HeartbeatService) readonly heartbeat: HeartbeatService | undefined) {}

      onModuleInit(): void {
        throw new Error('broken');
      }
    }
    @Global()
    @Module({ imports: [HeartbeatModule.forRoot({ connection: server.url })], providers: [Broken] })
    class AppModule {}
    const starting = NestFactory.createApplicationContext(AppModule, quiet());
    await expect(starting).rejects.toThrow('broken');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const after = Number(/total_connections_received:(\d+)/.exec(await redis.info('stats'))?.[1]);
    expect(after).toBe(before);
  });
});

/** A feature of the app that imports another: Nest runs the last hooks of the outer one first. */
function nested(inner: Type | DynamicModule): DynamicModule {
  @Module({})
  class FeatureModule {}
  return { module: FeatureModule, imports: [inner] };
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}
