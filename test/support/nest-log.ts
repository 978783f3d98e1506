import type { LoggerService } from '@nestjs/common';

/** A logger for Nest apps that keeps what was logged, with the context of each line. */
export class NestLog implements LoggerService {
  readonly lines: { readonly level: string; readonly context: string; readonly message: string }[] = [];

  log(message: unknown, context?: unknown): void {
    this.#add('log', message, context);
  }

  warn(message: unknown, context?: unknown): void {
    this.#add('warn', message, context);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.#add('error', message, rest.at(-1));
  }

  debug(message: unknown, context?: unknown): void {
    this.#add('debug', message, context);
  }

  verbose(): void {
    // Nobody asks for it.
  }

  /** What this module has logged, at a level. */
  ours(level: string): string[] {
    return this.lines
      .filter((line) => line.context === 'Heartbeat' && line.level === level)
      .map(({ message }) => message);
  }

  #add(level: string, message: unknown, context: unknown): void {
    this.lines.push({ level, context: String(context), message: String(message) });
  }
}
