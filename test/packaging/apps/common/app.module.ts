import { Module } from '@nestjs/common';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule } from '@nestjs/schedule';
import { HeartbeatModule } from 'nestjs-heartbeat';
import { connectionFromEnv } from './connection.js';
import { JobsModule } from './worker.module.js';

@Module({
  imports: [
    // Before the library: of modules that are alike, Nest tells the first one last.
    JobsModule,
    ScheduleModule.forRoot(),
    EventEmitterModule.forRoot(),
    HeartbeatModule.forRoot({
      isGlobal: true,
      connection: connectionFromEnv(),
      host: 'packaging',
      queues: { mail: 2, images: 1 },
      interval: 500,
      ttl: 2000,
      beatTimeout: 400,
    }),
  ],
})
export class AppModule {}
