import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ChecksumWorker } from './checksum.worker.js';
import { DemoModule, type Shared } from './demo.module.js';
import { ServerMonitor } from './server-monitor.js';
import type { ServerView, TaskView } from './view/snapshot.js';

/** Several servers in one process; they know of each other through the store only. */
export class Fleet {
  readonly #modules: readonly DynamicModule[];
  #apps: readonly INestApplicationContext[] = [];

  /** @throws {HeartbeatOptionError} when the store's options cannot work. */
  constructor(size: number, shared: Shared) {
    this.#modules = Array.from({ length: size }, () => DemoModule.forServer(shared));
  }

  async start(): Promise<void> {
    this.#apps = await Promise.all(this.#modules.map((module) => NestFactory.createApplicationContext(module)));
  }

  get servers(): ServerView[] {
    return this.#monitors.map(({ server }) => server);
  }

  get tasks(): TaskView[] {
    return this.#monitors.flatMap(({ tasks }) => tasks);
  }

  /** Drains and clears all servers, side by side. */
  async close(): Promise<void> {
    await Promise.all(this.#apps.map((app) => app.close()));
    // A task whose time to drain is over still has to let go of its file.
    await Promise.all(this.#apps.map((app) => app.get(ChecksumWorker).ended()));
  }

  get #monitors(): ServerMonitor[] {
    return this.#apps.map((app) => app.get(ServerMonitor));
  }
}
