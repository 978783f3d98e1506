import { HeartbeatError } from '../errors.js';
import type { TaskRef } from './task.js';

/** Somebody else runs this exclusive task. Code `E_LEASE_HELD`. */
export class LeaseHeldError extends HeartbeatError {
  constructor({ id, queue }: TaskRef) {
    super(
      'E_LEASE_HELD',
      `Task ${JSON.stringify(id)} of queue ${JSON.stringify(queue)} is running: somebody holds its lease. ` +
        'Leave it to them, or try again later',
    );
  }
}
