import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  HEARTBEAT_CLOCK,
  HEARTBEAT_INTERVAL,
  HEARTBEAT_OPTIONS,
  HeartbeatDisabledError,
  HeartbeatModule,
  HeartbeatService,
  MemoryBroker,
  RedisBroker,
  WORKER_STARTING,
  type ResolvedHeartbeatOptions,
} from '../../src/index.js';
import { FakeClock, flush } from '../support/fake-clock.js';
import { NestLog } from '../support/nest-log.js';
import { endOf, endWithTest, eventually, quiet, startApp } from './support/heartbeat-app.js';
import { RecordingBroker } from './support/recording-broker.js';

const INTERVAL_MS = 5000;
const TASK = { id: '1', type: 't', queue: 'q' };

/** A port that counts who comes; it answers nobody. */
async function watchedPort(): Promise<{ readonly url: string; readonly connections: () => number }> {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.on('error', () => undefined);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => count };
}

/** Sockets that this process has open, or is opening. */
function sockets(): number {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /^TCP(Socket|Connect|SocketConnect)?Wrap$|^PipeWrap$/.test(name)).length;
}

/** Longer than a connection on the loopback takes to be made. */
const LONG_ENOUGH_MS = 150;

describe('overriding in tests', () => {
  it('overrideProvider(RedisBroker).useValue(new MemoryBroker()) is all it takes: beats are there, and no socket is opened', async () => {
    const { url, connections } = await watchedPort();
    const before = sockets();
    const memory = new MemoryBroker();
    const module = await Test.createTestingModule({
      imports: [
        ScheduleModule.forRoot(),
        EventEmitterModule.forRoot(),
        HeartbeatModule.forRoot({ connection: url, queues: { emails: 2 } }),
      ],
    })
      .setLogger(new NestLog())
      .overrideProvider(RedisBroker)
      .useValue(memory)
      .compile();
    endWithTest(module);
    await module.init();
    const heartbeat = module.get(HeartbeatService);
    await eventually('the first beat', () => heartbeat.healthy);
    expect(memory.servers().map(({ server }) => [server.serverId, server.queues])).toEqual([
      [heartbeat.serverId, { emails: 2 }],
    ]);
    expect(module.get(RedisBroker)).toBe(memory);
    const result = await heartbeat.track(TASK, () => memory.leases('q').size, { exclusive: true });
    expect(result).toBe(1);
    await sleep(LONG_ENOUGH_MS);
    expect(connections()).toBe(0);
    expect(sockets()).toBe(before);
    await module.close();
    expect(memory.servers()).toEqual([]);
    expect(connections()).toBe(0);
  });

  it('without it the same app does connect: the check above can fail', async () => {
    const { url, connections } = await watchedPort();
    const module = await Test.createTestingModule({ imports: [HeartbeatModule.forRoot({ connection: url })] })
      .setLogger(new NestLog())
      .compile();
    endWithTest(module);
    await module.init();
    await eventually('a connection', () => connections() > 0);
  });

  it('the option `broker: new MemoryBroker()` opens no socket either', async () => {
    const before = sockets();
    const memory = new MemoryBroker();
    @Module({ imports: [HeartbeatModule.forRoot({ broker: memory })] })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, quiet());
    endWithTest(app);
    const heartbeat = app.get(HeartbeatService);
    await eventually('the first beat', () => heartbeat.healthy);
    expect(memory.servers()).toHaveLength(1);
    expect(sockets()).toBe(before);
    await app.close();
    expect(memory.servers()).toEqual([]);
  });

  it('HEARTBEAT_CLOCK can be overridden: beats, records and leases follow it', async () => {
    const clock = new FakeClock();
    const broker = new RecordingBroker(clock);
    const module = await Test.createTestingModule({
      imports: [HeartbeatModule.forRoot({ connection: 'redis://unused' })],
    })
      .setLogger(new NestLog())
      .overrideProvider(RedisBroker)
      .useValue(broker)
      .overrideProvider(HEARTBEAT_CLOCK)
      .useValue(clock)
      .compile();
    endWithTest(module, clock);
    await module.init();
    await flush();
    const heartbeat = module.get(HeartbeatService);
    expect(heartbeat.lastBeatAt).toEqual(new Date(clock.now()));
    await sleep(20);
    expect(broker.count('writeState')).toBe(1);
    await clock.advance(INTERVAL_MS - 1);
    expect(broker.count('writeState')).toBe(1);
    await clock.advance(1);
    expect(broker.count('writeState')).toBe(2);
    await clock.advance(100 * INTERVAL_MS);
    expect(broker.count('writeState')).toBe(102);
    expect(heartbeat.lastBeatAt).toEqual(new Date(clock.now()));

    broker.claim('q', '1', 30_000);
    const lease = heartbeat.leaseUntil(clock.now() + 30_000);
    clock.block(30_000);
    expect(lease.isValid).toBe(true);
    clock.block(1);
    expect(lease.isValid).toBe(false);
  });

  it('overrideProvider(HeartbeatService).useValue(fake): no beats at all', async () => {
    const clock = new FakeClock();
    const broker = new RecordingBroker(clock);
    const log = new NestLog();
    const fake = { track: (_: unknown, work: () => unknown) => work() };
    @Injectable()
    class Consumer {
      constructor(@Inject(HeartbeatService) readonly heartbeat: HeartbeatService) {}
    }
    const module = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), EventEmitterModule.forRoot(), HeartbeatModule.forRoot({ broker })],
      providers: [Consumer],
    })
      .setLogger(log)
      .overrideProvider(HeartbeatService)
      .useValue(fake)
      .overrideProvider(HEARTBEAT_CLOCK)
      .useValue(clock)
      .compile();
    endWithTest(module, clock);
    await module.init();
    await clock.advance(5 * INTERVAL_MS);
    expect(module.get(Consumer).heartbeat).toBe(fake);
    expect(module.get(HeartbeatService)).toBe(fake);
    expect(module.get(SchedulerRegistry).getIntervals()).toEqual([]);
    expect(module.get(EventEmitter2).listeners(WORKER_STARTING)).toEqual([]);
    expect(log.lines.filter(({ context }) => context === 'Heartbeat')).toEqual([]);
    await module.close();
    expect(broker.calls).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('a fake service opens no connection, though the broker is the real one', async () => {
    const { url, connections } = await watchedPort();
    const module = await Test.createTestingModule({ imports: [HeartbeatModule.forRoot({ connection: url })] })
      .setLogger(new NestLog())
      .overrideProvider(HeartbeatService)
      .useValue({})
      .compile();
    endWithTest(module);
    await module.init();
    await sleep(LONG_ENOUGH_MS);
    expect(connections()).toBe(0);
  });
});

describe('`enabled: false`', () => {
  const both = [ScheduleModule.forRoot(), EventEmitterModule.forRoot()];

  it('keeps the same providers injectable', async () => {
    @Injectable()
    class Consumer {
      constructor(
        @Inject(HeartbeatService) readonly heartbeat: HeartbeatService,
        @Inject(RedisBroker) readonly broker: RedisBroker,
        @Inject(HEARTBEAT_CLOCK) readonly clock: FakeClock,
        @Inject(HEARTBEAT_OPTIONS) readonly options: ResolvedHeartbeatOptions,
      ) {}
    }
    const { module, clock, broker } = await startApp({
      options: { enabled: false },
      imports: (us) => [...both, us],
      providers: [Consumer],
    });
    const consumer = module.get(Consumer);
    expect(consumer.heartbeat).toBeInstanceOf(HeartbeatService);
    expect(consumer.clock).toBe(clock);
    expect(consumer.broker).toBe(broker);
    expect(consumer.options).toMatchObject({ enabled: false, interval: INTERVAL_MS });
  });

  it('does not beat, is healthy, lists no interval, says so in one line, and asks the store for nothing to the end', async () => {
    const { module, clock, broker, heartbeat, log } = await startApp({
      options: { enabled: false },
      imports: (us) => [...both, us],
    });
    await clock.advance(5 * INTERVAL_MS);
    expect(heartbeat.healthy).toBe(true);
    expect(heartbeat.lastBeatAt).toBeUndefined();
    expect(await heartbeat.beat()).toMatchObject({ ok: false });
    expect(module.get(SchedulerRegistry).getIntervals()).not.toContain(HEARTBEAT_INTERVAL);
    heartbeat.stop();
    heartbeat.resume();
    expect(clock.pending).toBe(0);
    expect(await endOf(module.close(), clock)).toBe(0);
    expect(broker.calls).toEqual([]);
    expect(log.ours('log')).toHaveLength(1);
    expect(log.ours('log')[0]).toContain('Disabled');
    expect([...log.ours('warn'), ...log.ours('error')]).toEqual([]);
  });

  it('opens no connection', async () => {
    const { url, connections } = await watchedPort();
    const before = sockets();
    @Module({ imports: [HeartbeatModule.forRoot({ connection: url, enabled: false })] })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, quiet());
    endWithTest(app);
    await app.get(HeartbeatService).track(TASK, () => sleep(LONG_ENOUGH_MS));
    expect(sockets()).toBe(before);
    await app.close();
    expect(connections()).toBe(0);
  });

  it('track() runs the work and lists it here', async () => {
    const { heartbeat } = await startApp({ options: { enabled: false } });
    const seen = await heartbeat.track(TASK, () => heartbeat.activeTasks.map(({ id }) => id));
    expect(seen).toEqual(['1']);
    expect(heartbeat.activeTasks).toEqual([]);
    await expect(heartbeat.track(TASK, () => Promise.reject(new Error('its own')))).rejects.toThrow('its own');
  });

  it("workers' events are taken without complaint", async () => {
    const { module, heartbeat, log } = await startApp({ options: { enabled: false }, imports: (us) => [...both, us] });
    module.get(EventEmitter2).emit(WORKER_STARTING, { task: TASK });
    expect(heartbeat.activeTasks).toHaveLength(1);
    expect(log.ours('error')).toEqual([]);
  });

  it('refuses exclusive work with E_DISABLED, and does not call it', async () => {
    const { heartbeat, broker } = await startApp({ options: { enabled: false } });
    let called = false;
    const tracked = heartbeat.track(TASK, () => (called = true), { exclusive: true });
    await expect(tracked).rejects.toThrow(HeartbeatDisabledError);
    await expect(tracked).rejects.toMatchObject({ code: 'E_DISABLED' });
    expect(called).toBe(false);
    expect(broker.calls).toEqual([]);
  });
});
