import { Module, type DynamicModule } from '@nestjs/common';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { ScheduleModule } from '@nestjs/schedule';
import { HeartbeatModule, type HeartbeatOptions } from 'nestjs-heartbeat';
import { ChecksumWorker, CONCURRENCY, QUEUE } from './checksum.worker.js';
import { Feed } from './feed.js';
import { Job } from './job.js';
import { ServerMonitor } from './server-monitor.js';

/** What servers share. */
export interface Shared {
  readonly store: Pick<HeartbeatOptions, 'broker' | 'connection'>;
  readonly job: Job;
  readonly feed: Feed;
}

/** One server: an app with a heartbeat, and a worker that makes checksums. */
@Module({})
export class DemoModule {
  static forServer({ store, job, feed }: Shared): DynamicModule {
    return {
      module: DemoModule,
      imports: [
        ScheduleModule.forRoot(),
        EventEmitterModule.forRoot(),
        HeartbeatModule.forRoot({
          ...store,
          queues: { [QUEUE]: 1 },
          concurrency: CONCURRENCY,
          interval: 1000,
          // Hardly longer than a task: what one sees is that renewals keep a lease, not its length.
          leaseDuration: 4000,
          drainTimeout: 6000,
        }),
      ],
      providers: [ChecksumWorker, ServerMonitor, { provide: Job, useValue: job }, { provide: Feed, useValue: feed }],
    };
  }
}
