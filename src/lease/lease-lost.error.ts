import { HeartbeatError } from '../errors.js';

/**
 * Why a lease is no longer held.
 * - `expired`: it was not renewed in time.
 * - `lost`: the store no longer knows it, or the task was claimed anew.
 * - `deadline`: the task's own deadline has passed.
 * - `canceled`: somebody asked for the task to be canceled.
 * - `shutdown`: the server's drain time was over.
 */
export const LEASE_LOSS_REASONS = ['expired', 'lost', 'deadline', 'canceled', 'shutdown'] as const;

export type LeaseLossReason = (typeof LEASE_LOSS_REASONS)[number];

const EXPLANATIONS: Record<LeaseLossReason, string> = {
  expired: 'it was not renewed in time',
  lost: 'the store no longer holds it for this run',
  deadline: "the task's deadline has passed",
  canceled: 'the task was canceled',
  shutdown: 'the server shut down before the task had finished',
};

/** The task that a lease is about, as far as an error message needs it. */
export interface LeaseSubject {
  readonly id: string;
  readonly queue: string;
}

/** The work was done, or is to be done, without the right to do it: stop, and leave no traces. Code `E_LEASE_LOST`. */
export class LeaseLostError extends HeartbeatError {
  readonly reason: LeaseLossReason;

  constructor(reason: LeaseLossReason, subject?: LeaseSubject, options?: ErrorOptions) {
    const whose = subject ? ` of task ${JSON.stringify(subject.id)} in queue ${JSON.stringify(subject.queue)}` : '';
    super('E_LEASE_LOST', `The lease${whose} is gone (${reason}): ${EXPLANATIONS[reason]}`, options);
    this.reason = reason;
  }
}
