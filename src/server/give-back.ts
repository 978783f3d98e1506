import type { Broker } from '../broker/broker.js';
import { messageOf } from '../errors.js';
import { listOf } from '../list-of.js';
import type { Log } from '../log.js';
import type { Run } from '../task/run.js';
import type { Clock } from '../time/clock.js';
import { abortable, Limit } from '../time/limit.js';

/** A lease that was never renewed here is known by its local deadline only, to within a second of the format's. */
const UNCERTAINTY_MS = 1000;

/**
 * Lets the leases of runs that were left behind run out now, so that others need not wait for them. Never rejects, and
 * takes no longer than `timeout` milliseconds.
 */
export async function giveBack(
  runs: readonly Run[],
  broker: Broker,
  clock: Clock,
  timeout: number,
  log: Log,
): Promise<void> {
  const leased = runs.filter((run) => run.leased && run.lease.reason === 'shutdown');
  if (leased.length === 0) return;
  const limit = new Limit(clock, timeout);
  const released = leased.map(({ queue, id, expiresAt, lease }) =>
    broker.release(queue, id, expiresAt ?? Number(lease.deadline) + UNCERTAINTY_MS, 'expire', { signal: limit.signal }),
  );
  const results = await Promise.allSettled(released.map((release) => abortable(release, limit.signal)));
  limit.clear();
  const failed = results.find((result) => result.status === 'rejected');
  if (!failed) return;
  log.warn(
    `Leases of unfinished tasks could not be given back (${messageOf(failed.reason)}); they run out by themselves: ` +
      listOf(leased.map(({ id }) => id)),
  );
}
