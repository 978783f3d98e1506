import {
  ConfigurableModuleBuilder,
  Logger,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type Provider,
} from '@nestjs/common';
import { RedisBroker } from './broker/redis/redis-broker.js';
import type { Broker } from './broker/broker.js';
import {
  HeartbeatOptionError,
  resolveOptions,
  type HeartbeatOptions,
  type ResolvedHeartbeatOptions,
} from './heartbeat.options.js';
import { HeartbeatService } from './heartbeat.service.js';
import { HEARTBEAT_CLOCK, HEARTBEAT_HOST_PROCESS, HEARTBEAT_OPTIONS } from './heartbeat.tokens.js';
import { thisProcess, type HostProcess } from './host-process.js';
import { systemClock, type Clock } from './time/clock.js';

/** What is given beside the options, also where these come from a factory. */
export interface HeartbeatModuleExtras {
  /** Whether `HeartbeatService` can be injected everywhere without importing `HeartbeatModule` there. Default false. */
  readonly isGlobal?: boolean;
}

export type HeartbeatModuleOptions = HeartbeatOptions & HeartbeatModuleExtras;

/** `useFactory` with `inject`, `useClass` or `useExisting`, as Nest's own modules take them. */
export type HeartbeatModuleAsyncOptions = ConfigurableModuleAsyncOptions<HeartbeatOptions> & HeartbeatModuleExtras;

/** What apps may inject; `inner` is the name under which the core, though global, hands it to `HeartbeatModule` alone. */
const SHARED = [HeartbeatService, RedisBroker, HEARTBEAT_CLOCK, HEARTBEAT_OPTIONS].map((token) => ({
  token,
  inner: Symbol('heartbeat core'),
}));

/**
 * Holds the providers. Nest runs the shutdown hooks of global modules last, in the reverse order of their import: so this
 * server drains after the app's own workers have been told to stop, unless these are global and imported before it.
 */
@Module({})
class HeartbeatCoreModule {}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<HeartbeatOptions>({
  moduleName: 'Heartbeat',
})
  .setClassMethodName('forRoot')
  .setExtras<HeartbeatModuleExtras>({ isGlobal: false }, ({ module, imports = [], providers = [] }, { isGlobal }) => ({
    module,
    global: isGlobal ?? false,
    imports: [
      {
        module: HeartbeatCoreModule,
        global: true,
        imports,
        providers: [
          ...providers,
          ...CORE,
          ...SHARED.map(({ token, inner }) => ({ provide: inner, useExisting: token })),
        ],
        exports: SHARED.map(({ inner }) => inner),
      },
    ],
    providers: SHARED.map(({ token, inner }) => ({ provide: token, useExisting: inner })),
    exports: SHARED.map(({ token }) => token),
  }))
  .build();

const CORE: Provider[] = [
  { provide: HEARTBEAT_CLOCK, useValue: systemClock },
  { provide: HEARTBEAT_HOST_PROCESS, useValue: thisProcess },
  {
    provide: HEARTBEAT_OPTIONS,
    inject: [MODULE_OPTIONS_TOKEN, HEARTBEAT_HOST_PROCESS],
    useFactory: (options: HeartbeatOptions, host: HostProcess) => resolveOptions(options, host),
  },
  {
    provide: RedisBroker,
    inject: [HEARTBEAT_OPTIONS, HEARTBEAT_CLOCK],
    useFactory: ({ broker, connection, beatTimeout, pruneAfter }: ResolvedHeartbeatOptions, clock: Clock): Broker =>
      broker ?? new RedisBroker({ connection, timeout: beatTimeout, pruneAfter, clock, log: new Logger('Heartbeat') }),
  },
  HeartbeatService,
];

/**
 * Makes this process a server that beats.
 *
 * @example
 * ```ts
 * @Module({
 *   imports: [
 *     ScheduleModule.forRoot(),
 *     EventEmitterModule.forRoot(),
 *     HeartbeatModule.forRoot({ connection: 'redis://localhost:6379', queues: { emails: 1 }, isGlobal: true }),
 *   ],
 * })
 * export class AppModule {}
 * ```
 *
 * @publicApi
 */
@Module({})
export class HeartbeatModule extends ConfigurableModuleClass {
  /** @throws {HeartbeatOptionError} when an option cannot work. */
  static override forRoot(options: HeartbeatModuleOptions = {}): DynamicModule {
    const { isGlobal, ...heartbeat } = options;
    checkIsGlobal(isGlobal);
    resolveOptions(heartbeat, thisProcess);
    return super.forRoot(options);
  }

  /** Options from a factory, a class or an existing provider; one that cannot work keeps the app from starting. */
  static override forRootAsync(options: HeartbeatModuleAsyncOptions): DynamicModule {
    checkIsGlobal(options.isGlobal);
    return super.forRootAsync(options);
  }
}

function checkIsGlobal(value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean')
    throw new HeartbeatOptionError('isGlobal', value, 'true or false');
}
