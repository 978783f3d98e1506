import type { INestApplicationContext, Type } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  HEARTBEAT_CLOCK,
  HEARTBEAT_HOST_PROCESS,
  HeartbeatModule,
  HeartbeatService,
  MemoryBroker,
  RedisBroker,
  type Broker,
  type HeartbeatModuleOptions,
} from '../../src/index.js';
import { thisProcess } from '../../src/host-process.js';
import { FakeClock, flush } from './fake-clock.js';
import { NestLog } from './nest-log.js';

export interface HeartbeatApp {
  readonly app: INestApplicationContext;
  readonly heartbeat: HeartbeatService;
  readonly emitter: EventEmitter2;
  readonly broker: MemoryBroker;
  readonly clock: FakeClock;
  readonly log: NestLog;
  /** Everything the module has emitted: name and payload. */
  readonly events: { readonly name: string; readonly payload: Record<string, unknown> }[];
}

/** A Nest app with the module in it, in memory and on a clock that stands still, started and with its first beat done. */
export async function heartbeatApp(
  options: HeartbeatModuleOptions = {},
  { broker, clock = new FakeClock(), providers = [] }: { broker?: Broker; clock?: FakeClock; providers?: Type[] } = {},
): Promise<HeartbeatApp> {
  const memory = new MemoryBroker(clock);
  const log = new NestLog();

  @Module({
    imports: [
      EventEmitterModule.forRoot(),
      ScheduleModule.forRoot(),
      HeartbeatModule.forRoot({ isGlobal: true, ...options }),
    ],
    providers,
  })
  class AppModule {}

  const testing = await Test.createTestingModule({ imports: [AppModule] })
    .setLogger(log)
    .overrideProvider(RedisBroker)
    .useValue(broker ?? memory)
    .overrideProvider(HEARTBEAT_CLOCK)
    .useValue(clock)
    .overrideProvider(HEARTBEAT_HOST_PROCESS)
    .useValue({ ...thisProcess, hostname: () => 'box', pid: 4242, handles: () => true })
    .compile();
  const emitter = testing.get(EventEmitter2);
  const events: HeartbeatApp['events'] = [];
  emitter.onAny((name, payload: Record<string, unknown>) => {
    if (!String(name).startsWith('heartbeat.worker.')) events.push({ name: String(name), payload });
  });
  const app = await testing.init();
  await flush();
  return { app, heartbeat: testing.get(HeartbeatService), emitter, broker: memory, clock, log, events };
}
