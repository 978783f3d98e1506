import { Module } from '@nestjs/common';
import { WorkerService } from './worker.service.js';

@Module({ providers: [WorkerService] })
class WorkerModule {}

@Module({ imports: [WorkerModule] })
class MailModule {}

/** Workers stand deep in an app, and Nest tells the deep modules of the shutdown late. */
@Module({ imports: [MailModule] })
export class JobsModule {}
