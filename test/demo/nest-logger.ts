import type { LoggerService } from '@nestjs/common';
import type { Feed } from './feed.js';

/** Hands what Nest and its modules log to the view: lines in between would tear the table apart. */
export class NestLogger implements LoggerService {
  constructor(private readonly feed: Feed) {}

  /** Of what is only good to know, the heartbeat's own lines are kept: Nest's tell of modules one by one. */
  log(message: unknown, context?: unknown): void {
    if (context === 'Heartbeat') this.feed.tell({ kind: 'log', text: String(message) });
  }

  warn(message: unknown): void {
    this.feed.tell({ kind: 'warning', text: String(message) });
  }

  error(message: unknown): void {
    this.feed.tell({ kind: 'warning', text: String(message) });
  }

  fatal(message: unknown): void {
    this.error(message);
  }
}
