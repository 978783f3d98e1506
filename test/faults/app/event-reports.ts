import type { EventEmitter2 } from '@nestjs/event-emitter';
import {
  BEAT,
  BEAT_FAILED,
  LEASE_LOST,
  SERVER_CLEARED,
  SERVER_DRAINING,
  type BeatEvent,
  type LeaseLostEvent,
  type ServerClearedEvent,
} from '../../../src/index.js';
import type { ControlLine } from './control-line.js';

/** Passes on to the test what an app can hear of the heartbeat. */
export function reportEvents(emitter: EventEmitter2, line: ControlLine): void {
  for (const name of [BEAT, BEAT_FAILED]) {
    emitter.on(name, ({ ok, errors }: BeatEvent) => {
      line.tell({ is: 'beat', ok, errors: errors.map(({ message }) => message) });
    });
  }
  emitter.on(LEASE_LOST, ({ task, reason }: LeaseLostEvent) => {
    line.tell({ is: 'lost', id: task.id, reason });
  });
  emitter.on(SERVER_DRAINING, () => {
    line.tell({ is: 'draining' });
  });
  emitter.on(SERVER_CLEARED, ({ error }: ServerClearedEvent) => {
    line.tell({ is: 'cleared', error: error?.message });
  });
}

/** Passes on what nobody has handled: there must be nothing. */
export function reportUnhandled(line: ControlLine): void {
  const tell = (what: unknown): void => {
    line.tell({ is: 'unhandled', what: what instanceof Error ? (what.stack ?? what.message) : String(what) });
  };
  process.on('unhandledRejection', tell);
  process.on('uncaughtException', tell);
  process.on('warning', tell);
}
