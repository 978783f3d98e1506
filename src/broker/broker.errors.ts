import { HeartbeatError, messageOf } from '../errors.js';

/** The store refused, could not be reached, or answered with something else. Code `E_BROKER`; the cause is attached. */
export class BrokerError extends HeartbeatError {
  constructor(doing: string, cause: unknown) {
    super('E_BROKER', `${doing}: ${messageOf(cause)}`, { cause });
  }
}

/** This server has been cleared: nothing of it is written any more. Code `E_SERVER_CLOSED`. */
export class ServerClosedError extends HeartbeatError {
  constructor(message: string) {
    super('E_SERVER_CLOSED', message);
  }
}
