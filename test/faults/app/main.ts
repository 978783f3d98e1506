import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { Redis } from 'ioredis';
import { HeartbeatService } from '../../../src/index.js';
import { hostname } from 'node:os';
import { moment } from '../../support/moments.js';
import { AppModule } from './app.module.js';
import { ControlLine } from './control-line.js';
import { reportEvents, reportUnhandled } from './event-reports.js';
import { LoopProbe } from './loop-probe.js';
import { SETUP_VARIABLE, type AppSetup, type Command } from './protocol.js';
import { Workbench } from './workbench.js';

const { control, heartbeat: options, ownClient } = JSON.parse(process.env[SETUP_VARIABLE] ?? '') as AppSetup;
const line = await ControlLine.open(control);
reportUnhandled(line);

const client = ownClient ? new Redis(options.connection as string) : undefined;
const app = await NestFactory.createApplicationContext(
  AppModule.for({ ...options, ...(client && { connection: client }) }),
);
app.enableShutdownHooks();
const heartbeat = app.get(HeartbeatService);
reportEvents(app.get(EventEmitter2), line);

const workbench = new Workbench(heartbeat, line);
new LoopProbe(
  (now) => {
    workbench.look(now);
  },
  (from) => {
    line.tell({ is: 'stalled', from });
  },
);

line.onCommand((command) => {
  obey(command);
});
const identity = `{${hostname()}:${String(process.pid)}:${heartbeat.serverId}}`;
line.tell({ is: 'up', serverKey: `asynq:servers:${identity}`, workersKey: `asynq:workers:${identity}` });

function obey(command: Command): void {
  switch (command.do) {
    case 'start':
      workbench.start(command.id, command.queue, command.leaseUntil);
      break;
    case 'finish':
      workbench.finish(command.ids);
      break;
    case 'block':
      block(command.ms);
      break;
    case 'close':
      void close();
      break;
    case 'closeOwnClient':
      client?.disconnect();
      break;
  }
}

/** From a timer, as most work that takes too long: not while the socket's data is being read. */
function block(ms: number): void {
  setTimeout(() => {
    const from = moment();
    while (moment() - from < ms);
    line.tell({ is: 'blocked', from, valid: workbench.valid() });
  });
}

async function close(): Promise<void> {
  line.tell({ is: 'closing' });
  await app.close();
  line.tell({ is: 'closed' });
}
