import type { Log } from '../../src/log.js';

/** Keeps what was logged. */
export class FakeLog implements Log {
  readonly lines: { readonly level: 'log' | 'warn' | 'error' | 'debug'; readonly message: string }[] = [];

  log(message: string): void {
    this.lines.push({ level: 'log', message });
  }

  warn(message: string): void {
    this.lines.push({ level: 'warn', message });
  }

  error(message: string): void {
    this.lines.push({ level: 'error', message });
  }

  debug(message: string): void {
    this.lines.push({ level: 'debug', message });
  }

  /** The messages an operator sees by default. */
  get warnings(): string[] {
    return this.lines.filter(({ level }) => level === 'warn' || level === 'error').map(({ message }) => message);
  }
}
