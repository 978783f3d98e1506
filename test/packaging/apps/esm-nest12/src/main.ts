import { NestFactory } from '@nestjs/core';
import { HeartbeatService } from 'nestjs-heartbeat';
import { AppModule } from './common/app.module.js';
import { logHooksOf } from './common/hook-log.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
logHooksOf(app.get(HeartbeatService));
