/** Stable codes of the errors that this module throws; messages may change, codes do not. */
export type HeartbeatErrorCode =
  'E_OPTION' | 'E_TASK' | 'E_LEASE_LOST' | 'E_LEASE_HELD' | 'E_SERVER_CLOSED' | 'E_DISABLED' | 'E_BROKER' | 'E_TIMEOUT';

/** Base of all errors of this module: catch it to catch them all, and look at `code` to tell them apart. */
export class HeartbeatError extends Error {
  readonly code: HeartbeatErrorCode;

  constructor(code: HeartbeatErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The text of anything that can be thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
