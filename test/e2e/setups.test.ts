import {
  Global,
  Inject,
  Injectable,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { EventEmitter2, EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  BEAT,
  BEAT_FAILED,
  BEAT_RECOVERED,
  HEARTBEAT_CLOCK,
  HEARTBEAT_HOST_PROCESS,
  HEARTBEAT_INTERVAL,
  HEARTBEAT_OPTIONS,
  HeartbeatModule,
  HeartbeatOptionError,
  HeartbeatService,
  LEASE_LOST,
  RedisBroker,
  SERVER_CLEARED,
  SERVER_DRAINING,
  WORKER_FINISHED,
  WORKER_STARTING,
  type HeartbeatModuleOptions,
  type HeartbeatOptions,
} from '../../src/index.js';
import { FakeClock, flush } from '../support/fake-clock.js';
import { NestLog } from '../support/nest-log.js';
import { AppWorker, tally } from './support/app-worker.js';
import { endOf, endWithTest, hostWithHooks, planned, startApp, type Imports } from './support/heartbeat-app.js';
import { RecordingBroker } from './support/recording-broker.js';

const INTERVAL_MS = 5000;

interface Setup {
  readonly name: string;
  readonly imports: (heartbeat: DynamicModule) => Imports;
  readonly options?: HeartbeatModuleOptions;
  /** How many ScheduleModules there are: with two, it is the app that doubles its own intervals. */
  readonly schedules: 0 | 1 | 2;
  readonly events: boolean;
  /**
   * Whether EventEmitterModule still has its listeners when this server has been cleared: only where it is global and
   * comes before us.
   */
  readonly hearsCleared?: boolean;
}

const schedule = (): DynamicModule => ScheduleModule.forRoot();
const events = (options?: Parameters<typeof EventEmitterModule.forRoot>[0]): DynamicModule =>
  EventEmitterModule.forRoot(options);

/** Modules that a feature of the app imports, not its root. */
function inFeature(...imports: Imports): DynamicModule {
  @Module({})
  class FeatureModule {}
  return { module: FeatureModule, imports };
}

const SETUPS: readonly Setup[] = [
  {
    name: 'both, before us',
    imports: (us) => [schedule(), events(), us],
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  { name: 'both, after us', imports: (us) => [us, events(), schedule()], schedules: 1, events: true },
  {
    name: 'ScheduleModule before us, EventEmitterModule after',
    imports: (us) => [schedule(), us, events()],
    schedules: 1,
    events: true,
  },
  {
    name: 'EventEmitterModule before us, ScheduleModule after',
    imports: (us) => [events(), us, schedule()],
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  { name: 'only ScheduleModule', imports: (us) => [schedule(), us], schedules: 1, events: false },
  { name: 'only EventEmitterModule', imports: (us) => [events(), us], schedules: 0, events: true, hearsCleared: true },
  { name: 'neither', imports: (us) => [us], schedules: 0, events: false },
  {
    name: 'both twice, before us',
    imports: (us) => [schedule(), events(), schedule(), events(), us],
    schedules: 2,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'both twice, around us',
    imports: (us) => [schedule(), events(), us, schedule(), events()],
    schedules: 2,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'both twice, after us',
    imports: (us) => [us, schedule(), events(), schedule(), events()],
    schedules: 2,
    events: true,
  },
  {
    name: 'events with `global: false`, before us',
    imports: (us) => [schedule(), events({ global: false }), us],
    schedules: 1,
    events: true,
  },
  {
    name: 'events with `global: false`, after us',
    imports: (us) => [us, schedule(), events({ global: false })],
    schedules: 1,
    events: true,
  },
  {
    name: 'wildcard events',
    imports: (us) => [schedule(), events({ wildcard: true }), us],
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'events with another delimiter',
    imports: (us) => [schedule(), events({ delimiter: '/' }), us],
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'wildcard events with another delimiter',
    imports: (us) => [schedule(), events({ wildcard: true, delimiter: '::' }), us],
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'wildcard events with another delimiter, after us',
    imports: (us) => [us, schedule(), events({ wildcard: true, delimiter: '::' })],
    schedules: 1,
    events: true,
  },
  {
    name: 'us with `isGlobal`, last',
    imports: (us) => [schedule(), events(), us],
    options: { isGlobal: true },
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'us with `isGlobal`, first',
    imports: (us) => [us, schedule(), events()],
    options: { isGlobal: true },
    schedules: 1,
    events: true,
  },
  {
    name: 'us with `isGlobal`, and neither',
    imports: (us) => [us],
    options: { isGlobal: true },
    schedules: 0,
    events: false,
  },
  {
    name: 'both in a feature module',
    imports: (us) => [inFeature(schedule(), events()), us],
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'us in a feature module, with `isGlobal`',
    imports: (us) => [schedule(), events(), inFeature(us)],
    options: { isGlobal: true },
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
  {
    name: 'ScheduleModule.forRootAsync',
    imports: (us) => [ScheduleModule.forRootAsync({ useFactory: () => ({}) }), events(), us],
    schedules: 1,
    events: true,
    hearsCleared: true,
  },
];

afterEach(() => {
  vi.useRealTimers();
});

describe.each(SETUPS.map((setup) => [setup.name, setup] as const))('set-up: %s', (_, setup) => {
  const start = async () => {
    const app = await startApp({ imports: setup.imports, options: setup.options ?? {}, providers: [AppWorker] });
    return { ...app, worker: app.module.get(AppWorker) };
  };

  it('beats once at start and once per interval', async () => {
    const { clock, broker, heartbeat } = await start();
    expect(broker.count('writeState')).toBe(1);
    await clock.advance(4 * INTERVAL_MS);
    expect(broker.count('writeState')).toBe(5);
    expect(broker.servers()).toHaveLength(1);
    expect(heartbeat.healthy).toBe(true);
  });

  it('track() works', async () => {
    const { heartbeat } = await start();
    const active = await heartbeat.track({ id: '1', type: 't', queue: 'q' }, () => heartbeat.activeTasks.length);
    expect(active).toBe(1);
    expect(heartbeat.activeTasks).toEqual([]);
  });

  it('says in one line what was found, in one warning what is missing and the import to add, and nothing else', async () => {
    const { clock, log } = await start();
    await clock.advance(3 * INTERVAL_MS);
    const lines = log.ours('log');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('beats every 5000 ms');
    expect(lines[0]).toContain(`SchedulerRegistry ${setup.schedules > 0 ? 'found' : 'not found'}`);
    expect(lines[0]).toContain(`EventEmitter2 ${setup.events ? 'found' : 'not found'}`);
    const warnings = log.ours('warn');
    expect(warnings).toHaveLength(setup.schedules > 0 && setup.events ? 0 : 1);
    const said = warnings.join();
    expect(said.includes("ScheduleModule.forRoot() from '@nestjs/schedule'")).toBe(setup.schedules === 0);
    expect(said.includes("EventEmitterModule.forRoot() from '@nestjs/event-emitter'")).toBe(!setup.events);
    expect(log.ours('error')).toEqual([]);
  });

  if (setup.schedules === 0) {
    it("does not run the app's own @Interval(), which asks for ScheduleModule", async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      const { worker } = await start();
      vi.advanceTimersByTime(3 * AppWorker.INTERVAL_MS);
      expect(worker.ticks).toBe(0);
    });
  } else {
    it("lists its interval in the app's SchedulerRegistry as long as the app runs", async () => {
      const { worker, module, clock } = await start();
      expect(worker.registry?.getIntervals()).toContain(HEARTBEAT_INTERVAL);
      await endOf(module.close(), clock);
      expect(worker.registry?.getIntervals()).not.toContain(HEARTBEAT_INTERVAL);
    });
  }

  if (setup.schedules === 1) {
    it("runs the app's own @Interval() once each time", async () => {
      // ScheduleModule's timers are Node's own; ours are on the clock of the test.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      const { worker } = await start();
      vi.advanceTimersByTime(3 * AppWorker.INTERVAL_MS);
      expect(worker.ticks).toBe(3);
    });
  }

  if (setup.events) {
    it('counts each starting and each finished event once', async () => {
      const { heartbeat, worker } = await start();
      const task = { id: '1', type: 't', queue: 'q' };
      // Without a lease a second starting is a second run: one that was heard twice would show.
      worker.emitter?.emit(WORKER_STARTING, { task });
      expect(heartbeat.activeTasks).toHaveLength(1);
      worker.emitter?.emit(WORKER_STARTING, { task });
      expect(heartbeat.activeTasks).toHaveLength(2);
      worker.emitter?.emit(WORKER_FINISHED, { task });
      expect(heartbeat.activeTasks).toHaveLength(1);
      worker.emitter?.emit(WORKER_FINISHED, { task });
      expect(heartbeat.activeTasks).toHaveLength(0);
    });

    it('counts a starting that is emitted twice, with one lease, as one task', async () => {
      const { heartbeat, worker, clock, broker } = await start();
      const task = { id: '1', type: 't', queue: 'q' };
      broker.claim('q', '1', 30_000);
      const lease = heartbeat.leaseUntil(clock.now() + 30_000);
      worker.emitter?.emit(WORKER_STARTING, { task, lease });
      worker.emitter?.emit(WORKER_STARTING, { task, lease });
      expect(heartbeat.activeTasks).toHaveLength(1);
      worker.emitter?.emit(WORKER_FINISHED, { task, lease });
      expect(heartbeat.activeTasks).toHaveLength(0);
    });

    it('emits each outgoing event once, to an @OnEvent() method and to a raw listener', async () => {
      const { module, heartbeat, worker, clock, broker } = await start();
      await clock.advance(2 * INTERVAL_MS);
      broker.failNext('writeState');
      await clock.advance(INTERVAL_MS + 1000);
      const lease = heartbeat.leaseUntil(clock.now() + 30_000);
      worker.emitter?.emit(WORKER_STARTING, { task: { id: 'never claimed', type: 't', queue: 'q' }, lease });
      await clock.advance(INTERVAL_MS);
      worker.emitter?.emit(WORKER_FINISHED, { task: { id: 'never claimed', queue: 'q' }, lease });
      await endOf(module.close(), clock);
      const expected = tally({
        // One write, between two beats, made the task visible: that is no beat.
        [BEAT]: broker.written.length - 1,
        [BEAT_FAILED]: 1,
        [BEAT_RECOVERED]: 1,
        [LEASE_LOST]: 1,
        [SERVER_DRAINING]: 1,
        [SERVER_CLEARED]: setup.hearsCleared ? 1 : 0,
      });
      expect(worker.heardRaw).toEqual(expected);
      expect(worker.heard).toEqual(expected);
    });
  }
});

describe('two apps in one process', () => {
  it('each beat for themselves, once per interval, and one outlives the other', async () => {
    const imports = (us: DynamicModule): Imports => [schedule(), events(), us];
    const one = await startApp({ imports, providers: [AppWorker] });
    const two = await startApp({ imports, providers: [AppWorker] });
    expect(one.heartbeat.serverId).not.toBe(two.heartbeat.serverId);
    one.module.get(EventEmitter2).emit(WORKER_STARTING, { task: { id: '1', type: 't', queue: 'q' } });
    expect(one.heartbeat.activeTasks).toHaveLength(1);
    expect(two.heartbeat.activeTasks).toHaveLength(0);
    one.module.get(EventEmitter2).emit(WORKER_FINISHED, { task: { id: '1', queue: 'q' } });
    await one.clock.advance(2 * INTERVAL_MS);
    await two.clock.advance(3 * INTERVAL_MS);
    expect([one.broker.count('writeState'), two.broker.count('writeState')]).toEqual([3, 4]);
    expect(one.module.get(AppWorker).heard[BEAT]).toBe(3);
    expect(two.module.get(AppWorker).heard[BEAT]).toBe(4);

    await endOf(one.module.close(), one.clock);
    await two.clock.advance(2 * INTERVAL_MS);
    expect(two.broker.count('writeState')).toBe(6);
    expect(two.module.get(SchedulerRegistry).getIntervals()).toContain(HEARTBEAT_INTERVAL);
    expect(two.broker.servers()).toHaveLength(1);
  });

  it('see each other in one store', async () => {
    const clock = new FakeClock();
    const broker = new RecordingBroker(clock);
    await startApp({ clock, broker });
    await startApp({ clock, broker });
    expect(broker.servers()).toHaveLength(2);
    await clock.advance(INTERVAL_MS);
    expect(broker.count('writeState')).toBe(4);
  });
});

describe('events from the hooks of other providers', () => {
  @Injectable()
  class EarlyWorker implements OnModuleInit, OnApplicationBootstrap {
    constructor(@Inject(EventEmitter2) private readonly emitter: EventEmitter2) {}

    onModuleInit(): void {
      this.emitter.emit(WORKER_STARTING, { task: { id: 'from init', type: 't', queue: 'q' } });
    }

    onApplicationBootstrap(): void {
      this.emitter.emit(WORKER_STARTING, { task: { id: 'from bootstrap', type: 't', queue: 'q' } });
    }
  }
  const both = ['from bootstrap', 'from init'];

  @Global()
  @Module({ providers: [EarlyWorker] })
  class GlobalWorkerModule {}

  @Module({ providers: [EarlyWorker] })
  class WorkerModule {}

  it.each<[name: string, imports: (us: DynamicModule) => Imports]>([
    ['of a module before us', (us) => [WorkerModule, events(), us]],
    ['of a module after us', (us) => [us, events(), WorkerModule]],
    ['of a module whose import of the emitter is its own', (us) => [us, inFeature(events(), WorkerModule)]],
    ['of a global module after us', (us) => [us, events(), GlobalWorkerModule]],
  ])("a provider's onModuleInit and onApplicationBootstrap may emit, %s: nothing is lost", async (_, imports) => {
    const { heartbeat } = await startApp({ imports });
    expect(heartbeat.activeTasks.map(({ id }) => id).sort()).toEqual(both);
  });

  it('of a global module before us, what its onModuleInit emits is not heard: Nest has not yet initialised us', async () => {
    const { heartbeat } = await startApp({ imports: (us) => [events(), GlobalWorkerModule, us] });
    expect(heartbeat.activeTasks.map(({ id }) => id)).toEqual(['from bootstrap']);
  });

  it('the first beat shows what was started before it', async () => {
    const { broker, clock } = await startApp({ imports: (us) => [events(), us, WorkerModule] });
    await clock.advance(INTERVAL_MS);
    expect(broker.written[0]?.workers).toContain('from init');
    expect(broker.written.at(-1)?.workers).toHaveLength(2);
  });
});

describe('several emitters', () => {
  it('a worker is heard once on whichever of them it speaks', async () => {
    const { module, heartbeat } = await startApp({ imports: (us) => [events(), us, events()] });
    const emitters = [
      ...new Set(module.get<EventEmitter2, EventEmitter2>(EventEmitter2, { strict: false, each: true })),
    ];
    expect(emitters).toHaveLength(2);
    for (const [index, emitter] of emitters.entries()) {
      emitter.emit(WORKER_STARTING, { task: { id: '1', type: 't', queue: 'q' } });
      expect(heartbeat.activeTasks, `emitter ${index}`).toHaveLength(1);
      emitter.emit(WORKER_FINISHED, { task: { id: '1', queue: 'q' } });
      expect(heartbeat.activeTasks).toHaveLength(0);
    }
  });

  it('a wildcard emitter may be given the name as an array', async () => {
    const { module, heartbeat } = await startApp({ imports: (us) => [events({ wildcard: true }), us] });
    const emitter = module.get(EventEmitter2);
    emitter.emit(['heartbeat', 'worker', 'starting'], { task: { id: '1', type: 't', queue: 'q' } });
    expect(heartbeat.activeTasks).toHaveLength(1);
    emitter.emit(['heartbeat', 'worker', 'finished'], { task: { id: '1', queue: 'q' } });
    expect(heartbeat.activeTasks).toHaveLength(0);
  });

  it('a wildcard listener hears each beat once', async () => {
    const { module, clock } = await startApp({ imports: (us) => [events({ wildcard: true }), us] });
    const heard = vi.fn();
    module.get(EventEmitter2).on('heartbeat.*', heard);
    await clock.advance(2 * INTERVAL_MS);
    expect(heard).toHaveBeenCalledTimes(2);
  });
});

describe('forRootAsync', () => {
  const HOST = Symbol('host');

  @Module({ providers: [{ provide: HOST, useValue: 'configured' }], exports: [HOST] })
  class ConfigModule {}

  const compile = async (heartbeat: (broker: RecordingBroker) => DynamicModule, ...more: Imports) => {
    const clock = new FakeClock();
    const broker = new RecordingBroker(clock);
    const module = await Test.createTestingModule({ imports: [schedule(), events(), heartbeat(broker), ...more] })
      .setLogger(new NestLog())
      .overrideProvider(HEARTBEAT_CLOCK)
      .useValue(clock)
      .overrideProvider(HEARTBEAT_HOST_PROCESS)
      .useValue(hostWithHooks)
      .compile();
    endWithTest(module, clock);
    await module.init();
    await clock.advance(2 * INTERVAL_MS);
    return { module, broker };
  };
  const expectOneBeatPerInterval = (broker: RecordingBroker): void => {
    expect(broker.servers().map(({ server }) => server.host)).toEqual(['configured']);
    expect(broker.count('writeState')).toBe(3);
  };

  it('takes a factory with imports and inject', async () => {
    const { broker } = await compile((broker) =>
      HeartbeatModule.forRootAsync({
        imports: [ConfigModule],
        inject: [HOST],
        useFactory: async (host: string): Promise<HeartbeatOptions> => ({ broker, host }),
      }),
    );
    expectOneBeatPerInterval(broker);
  });

  it('takes a class', async () => {
    let used: RecordingBroker | undefined;
    @Injectable()
    class Factory {
      create(): HeartbeatOptions {
        return { broker: used, host: 'configured' };
      }
    }
    const { broker } = await compile((broker) => {
      used = broker;
      return HeartbeatModule.forRootAsync({ useClass: Factory });
    });
    expectOneBeatPerInterval(broker);
  });

  it('takes an existing provider', async () => {
    let used: RecordingBroker | undefined;
    @Injectable()
    class Existing {
      create(): HeartbeatOptions {
        return { broker: used, host: 'configured' };
      }
    }
    @Module({ providers: [Existing], exports: [Existing] })
    class ExistingModule {}
    const { broker } = await compile((broker) => {
      used = broker;
      return HeartbeatModule.forRootAsync({ imports: [ExistingModule], useExisting: Existing });
    });
    expectOneBeatPerInterval(broker);
  });

  it('takes `isGlobal` beside the factory', async () => {
    @Injectable()
    class Consumer {
      constructor(@Inject(HeartbeatService) readonly heartbeat: HeartbeatService) {}
    }
    @Module({ providers: [Consumer] })
    class FeatureModule {}
    const { module } = await compile(
      (broker) => HeartbeatModule.forRootAsync({ isGlobal: true, useFactory: () => ({ broker, host: 'configured' }) }),
      FeatureModule,
    );
    expect(module.get(Consumer, { strict: false }).heartbeat.status).toBe('active');
  });

  it('an option that cannot work keeps the app from starting, and nothing is acquired', async () => {
    const clock = new FakeClock();
    const broker = new RecordingBroker(clock);
    const building = Test.createTestingModule({
      imports: [HeartbeatModule.forRootAsync({ useFactory: () => ({ broker, interval: 1 }) })],
    })
      .setLogger(new NestLog())
      .overrideProvider(HEARTBEAT_CLOCK)
      .useValue(clock)
      .compile();
    await expect(building).rejects.toThrow(HeartbeatOptionError);
    expect(clock.pending).toBe(0);
    expect(broker.calls).toEqual([]);
  });
});

describe('who may inject what', () => {
  const consumerOf = (token: Type | symbol): { feature: Type; consumer: Type<{ injected: unknown }> } => {
    @Injectable()
    class Consumer {
      constructor(@Inject(token) readonly injected: unknown) {}
    }
    @Module({ providers: [Consumer] })
    class FeatureModule {}
    return { feature: FeatureModule, consumer: Consumer };
  };
  const tokens: [name: string, token: Type | symbol][] = [
    ['HeartbeatService', HeartbeatService],
    ['RedisBroker', RedisBroker],
    ['HEARTBEAT_CLOCK', HEARTBEAT_CLOCK],
    ['HEARTBEAT_OPTIONS', HEARTBEAT_OPTIONS],
  ];

  it.each(tokens)('with `isGlobal` a feature module injects %s without importing us', async (_, token) => {
    const { feature, consumer } = consumerOf(token);
    const { module } = await startApp({ imports: (us) => [us, feature], options: { isGlobal: true } });
    expect(module.get(consumer, { strict: false }).injected).toBe(module.get(token, { strict: false }));
  });

  it.each(tokens)('without `isGlobal` a feature module that does not import us cannot inject %s', async (_, token) => {
    const { feature } = consumerOf(token);
    const { builder, broker, clock } = planned({ imports: (us) => [us, feature] });
    await expect(builder.compile()).rejects.toThrow(/can't resolve dependencies/);
    expect(broker.calls).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('without `isGlobal` a feature module injects it by importing what the root does, and it is one server', async () => {
    const { feature, consumer } = consumerOf(HeartbeatService);
    const { heartbeat, module, broker, clock } = await startApp({
      imports: (us) => [us, { module: feature, imports: [us] }],
    });
    expect(module.get(consumer, { strict: false }).injected).toBe(heartbeat);
    await clock.advance(INTERVAL_MS);
    expect(broker.servers()).toHaveLength(1);
    expect(broker.count('writeState')).toBe(2);
  });

  it('a second server in one app is one more, with an interval of its own', async () => {
    const { feature, consumer } = consumerOf(HeartbeatService);
    const clock = new FakeClock();
    const broker = new RecordingBroker(clock);
    const { heartbeat, module } = await startApp({
      clock,
      broker,
      imports: (us) => [schedule(), us, { module: feature, imports: [HeartbeatModule.forRoot({ broker })] }],
      providers: [AppWorker],
    });
    const second = module.get(consumer, { strict: false }).injected as HeartbeatService;
    const first = module.get(AppWorker).heartbeat;
    expect([first, second]).toContain(heartbeat);
    expect(second.serverId).not.toBe(first.serverId);
    await clock.advance(INTERVAL_MS);
    expect(broker.servers()).toHaveLength(2);
    expect(broker.count('writeState')).toBe(4);
    const ours = module
      .get(SchedulerRegistry)
      .getIntervals()
      .filter((name) => name.startsWith(HEARTBEAT_INTERVAL));
    expect(ours).toHaveLength(2);
  });
});

describe("what an app's listeners and workers do wrong", () => {
  const watchRejections = (): unknown[] => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => {
      rejections.push(reason);
    };
    process.on('unhandledRejection', note);
    onTestFinished(() => {
      process.off('unhandledRejection', note);
    });
    return rejections;
  };

  it.each<[name: string, listener: () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('listener broke');
      },
    ],
    ['rejects', () => Promise.reject(new Error('listener broke'))],
    [
      'rejects later',
      async () => {
        await flush();
        throw new Error('listener broke');
      },
    ],
    [
      'throws what is no error',
      () => {
        // An app may throw what it likes, a string as well.
        const thrown: unknown = 'listener broke';
        throw thrown;
      },
    ],
  ])('a listener of heartbeat.beat that %s disturbs nothing, and is logged', async (_, listener) => {
    const rejections = watchRejections();
    const { module, clock, broker, log, heartbeat } = await startApp({ imports: (us) => [schedule(), events(), us] });
    module.get(EventEmitter2).on(BEAT, listener);
    await clock.advance(3 * INTERVAL_MS);
    await flush();
    expect(broker.written).toHaveLength(4);
    expect(heartbeat.healthy).toBe(true);
    expect(log.ours('error')).not.toEqual([]);
    expect(log.ours('error')[0]).toMatch(/heartbeat\.beat.*listener broke/);
    await endOf(module.close(), clock);
    expect(broker.servers()).toEqual([]);
    expect(rejections).toEqual([]);
  });

  it('a listener of any other event that throws disturbs neither lease nor shutdown', async () => {
    const rejections = watchRejections();
    const { module, clock, broker, heartbeat } = await startApp({ imports: (us) => [events(), us] });
    const emitter = module.get(EventEmitter2);
    for (const name of [BEAT_FAILED, BEAT_RECOVERED, LEASE_LOST, SERVER_DRAINING, SERVER_CLEARED]) {
      emitter.on(name, () => {
        throw new Error('listener broke');
      });
    }
    broker.failNext('writeState');
    await clock.advance(INTERVAL_MS);
    const lease = heartbeat.leaseUntil(clock.now() + 30_000);
    emitter.emit(WORKER_STARTING, { task: { id: 'never claimed', type: 't', queue: 'q' }, lease });
    broker.claim('q', 'claimed', 30_000);
    const kept = heartbeat.leaseUntil(clock.now() + 30_000);
    emitter.emit(WORKER_STARTING, { task: { id: 'claimed', type: 't', queue: 'q' }, lease: kept });
    await clock.advance(8 * INTERVAL_MS);
    expect(lease.reason).toBe('lost');
    expect(kept.isValid).toBe(true);
    emitter.emit(WORKER_FINISHED, { task: { id: 'never claimed', queue: 'q' } });
    emitter.emit(WORKER_FINISHED, { task: { id: 'claimed', queue: 'q' } });
    expect(await endOf(module.close(), clock)).toBeLessThan(1000);
    expect(broker.servers()).toEqual([]);
    expect(rejections).toEqual([]);
  });

  const task = { id: '1', type: 't', queue: 'q' };
  it.each<[event: string, field: string, payload: unknown]>([
    [WORKER_STARTING, 'payload', undefined],
    [WORKER_STARTING, 'payload', 'a string'],
    [WORKER_STARTING, 'task', {}],
    [WORKER_STARTING, 'task.id', { task: { ...task, id: '' } }],
    [WORKER_STARTING, 'task.id', { task: { ...task, id: 7 } }],
    [WORKER_STARTING, 'task.queue', { task: { ...task, queue: ' ' } }],
    [WORKER_STARTING, 'task.queue', { task: { ...task, queue: '}q' } }],
    [WORKER_STARTING, 'task.type', { task: { id: '1', queue: 'q' } }],
    [WORKER_STARTING, 'task.payload', { task: { ...task, payload: { a: 1 } } }],
    [WORKER_STARTING, 'startedAt', { task, startedAt: 'now' }],
    [WORKER_STARTING, 'deadline', { task, deadline: new Date(Number.NaN) }],
    [WORKER_STARTING, 'lease', { task, lease: { isValid: true } }],
    [WORKER_FINISHED, 'payload', null],
    [WORKER_FINISHED, 'task', { task: 'a' }],
    [WORKER_FINISHED, 'task.id', { task: { queue: 'q' } }],
    [WORKER_FINISHED, 'task.queue', { task: { id: '1' } }],
    [WORKER_FINISHED, 'lease', { task, lease: 1 }],
  ])('%s with a wrong %s is dropped, and logged once for its kind', async (event, field, payload) => {
    const { module, heartbeat, log } = await startApp({ imports: (us) => [events(), us] });
    const emitter = module.get(EventEmitter2);
    emitter.emit(WORKER_STARTING, { task: { ...task, id: 'good' } });
    for (let times = 0; times < 3; times += 1) {
      expect(() => emitter.emit(event, payload)).not.toThrow();
    }
    expect(heartbeat.activeTasks.map(({ id }) => id)).toEqual(['good']);
    expect(log.ours('error')).toHaveLength(1);
    expect(log.ours('error')[0]).toContain(`"${event}" event: ${field} must be`);
    expect(log.ours('warn').filter((line) => line.includes('malformed'))).toEqual([]);
  });

  it('malformed events of several kinds are logged once each, and good ones still count', async () => {
    const { module, heartbeat, log } = await startApp({ imports: (us) => [events(), us] });
    const emitter = module.get(EventEmitter2);
    for (let times = 0; times < 3; times += 1) {
      emitter.emit(WORKER_STARTING, { task: { ...task, id: '' } });
      emitter.emit(WORKER_STARTING, { task: { ...task, queue: '' } });
      emitter.emit(WORKER_FINISHED, { task: { ...task, id: '' } });
    }
    expect(log.ours('error')).toHaveLength(3);
    emitter.emit(WORKER_STARTING, { task });
    expect(heartbeat.activeTasks).toHaveLength(1);
  });
});
