import { Module, type DynamicModule } from '@nestjs/common';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule } from '@nestjs/schedule';
import { HeartbeatModule, type HeartbeatModuleOptions } from '../../../src/index.js';

/** The root module of an app as people write it; the emitter first, so that the app hears that it was cleared. */
@Module({})
export class AppModule {
  static for(options: HeartbeatModuleOptions): DynamicModule {
    const imports = [EventEmitterModule.forRoot(), ScheduleModule.forRoot(), HeartbeatModule.forRoot(options)];
    return { module: AppModule, imports };
  }
}
