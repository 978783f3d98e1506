import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestApplicationContextOptions } from '@nestjs/common/interfaces/nest-application-context-options.interface.js';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import {
  HEARTBEAT_CLOCK,
  HEARTBEAT_HOST_PROCESS,
  HeartbeatModule,
  HeartbeatService,
  type HeartbeatModuleOptions,
  type HostProcess,
} from '../../../src/index.js';
import { thisProcess } from '../../../src/host-process.js';
import { FakeClock, flush } from '../../support/fake-clock.js';
import { NestLog } from '../../support/nest-log.js';
import { RecordingBroker } from './recording-broker.js';

export type Imports = NonNullable<ModuleMetadata['imports']>;

/** A process in which somebody handles SIGTERM, as in every app that enables its shutdown hooks. */
export const hostWithHooks: HostProcess = { ...thisProcess, handles: () => true };

export interface AppPlan {
  /** All that the root module imports; HeartbeatModule alone when left out. */
  readonly imports?: (heartbeat: DynamicModule) => Imports;
  readonly providers?: NonNullable<ModuleMetadata['providers']>;
  readonly controllers?: NonNullable<ModuleMetadata['controllers']>;
  readonly options?: HeartbeatModuleOptions;
  readonly clock?: FakeClock;
  readonly broker?: RecordingBroker;
  readonly host?: HostProcess;
}

export interface HeartbeatApp {
  readonly module: TestingModule;
  readonly heartbeat: HeartbeatService;
  readonly clock: FakeClock;
  readonly broker: RecordingBroker;
  readonly log: NestLog;
}

/** What a plan says, ready to be compiled. */
export function planned(plan: AppPlan): Omit<HeartbeatApp, 'module' | 'heartbeat'> & { builder: TestingModuleBuilder } {
  const clock = plan.clock ?? new FakeClock();
  const broker = plan.broker ?? new RecordingBroker(clock);
  const log = new NestLog();
  const heartbeat = HeartbeatModule.forRoot({ broker, ...plan.options });
  const builder = Test.createTestingModule({
    imports: plan.imports?.(heartbeat) ?? [heartbeat],
    providers: plan.providers ?? [],
    controllers: plan.controllers ?? [],
  })
    .setLogger(log)
    .overrideProvider(HEARTBEAT_CLOCK)
    .useValue(clock)
    .overrideProvider(HEARTBEAT_HOST_PROCESS)
    .useValue(plan.host ?? hostWithHooks);
  return { builder, clock, broker, log };
}

/** An app that has started, on a clock that stands still; it ends with the test. */
export async function startApp(plan: AppPlan = {}): Promise<HeartbeatApp> {
  const { builder, ...parts } = planned(plan);
  const module = await builder.compile();
  endWithTest(module, parts.clock);
  await module.init();
  await flush();
  return { ...parts, module, heartbeat: module.get(HeartbeatService, { strict: false }) };
}

/** Options for NestFactory: logs go to the test, and a failure is thrown instead of ending the process. */
export function quiet(log = new NestLog()): NestApplicationContextOptions {
  return Object.assign(new NestApplicationContextOptions(), { logger: log, abortOnError: false });
}

/** Closes an app when the test is over, however it ended. */
export function endWithTest(app: INestApplicationContext, clock?: FakeClock): void {
  onTestFinished(async () => {
    const closed = app.close();
    await (clock ? endOf(closed, clock) : Promise.race([closed, sleep(5000)])).catch(() => undefined);
  });
}

/** Lets a clock go on until something has happened, and tells how many milliseconds that took. */
export async function endOf(promise: Promise<unknown>, clock: FakeClock, limit = 120_000): Promise<number> {
  const begun = clock.steady();
  const took = (): number => clock.steady() - begun;
  let settled = false;
  const done = promise.finally(() => {
    settled = true;
  });
  done.catch(() => undefined);
  await flush();
  for (; !isSettled() && took() < limit;) await clock.advance(50);
  if (!isSettled()) throw new Error(`it has not happened within ${String(limit)} ms`);
  await done;
  return took();

  function isSettled(): boolean {
    return settled;
  }
}

/** Looks again and again until a real store or socket shows what is awaited. */
export async function eventually(what: string, look: () => boolean | Promise<boolean>, limit = 5000): Promise<void> {
  const end = performance.now() + limit;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`not within ${String(limit)} ms: ${what}`);
    await sleep(10);
  }
}
