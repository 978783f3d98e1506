import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { HeartbeatService } from 'nestjs-heartbeat';
import { AppModule } from './common/app.module.js';
import { logHooksOf } from './common/hook-log.js';

async function bootstrap(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  app.enableShutdownHooks();
  logHooksOf(app.get(HeartbeatService));
}

void bootstrap();
