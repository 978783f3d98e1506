import { Test } from '@nestjs/testing';
import { HeartbeatService, MemoryBroker, RedisBroker } from 'nestjs-heartbeat';
import { AppModule } from './app.module.js';
import { report } from './report.js';

/** The app without Redis, as its own tests would run it. */
async function runInMemory(): Promise<void> {
  const broker = new MemoryBroker();
  const testing = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(RedisBroker)
    .useValue(broker)
    .compile();
  await testing.init();
  const { ok } = await testing.get(HeartbeatService).beat();
  const listed = broker.servers().length;
  await testing.close();
  report('memory', { ok, listed, left: broker.servers().length });
}

void runInMemory();
