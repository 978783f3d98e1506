import type { Broker } from '../broker/broker.js';
import { messageOf } from '../errors.js';
import type { Log } from '../log.js';
import type { Run } from '../task/run.js';
import type { Clock } from '../time/clock.js';
import { boundedBy, Limit } from '../time/limit.js';

/** A lease that was never renewed here is known by its local deadline only, to within a second of the format's. */
const UNCERTAINTY_MS = 1000;

/**
 * Gives back the leases of runs that were left behind, so that others need not wait for them: claimed tasks run out now,
 * exclusive ones are free. Never rejects, and takes no longer than `timeout` milliseconds.
 */
export async function giveBack(
  runs: readonly Run[],
  broker: Broker,
  clock: Clock,
  timeout: number,
  log: Log,
): Promise<void> {
  const limit = new Limit(clock, timeout);
  const { signal } = limit;
  const given = runs.flatMap(({ queue, id, leased, oursUntil, lease }) => {
    if (!leased || lease.reason !== 'shutdown') return [];
    const ours = oursUntil ?? Number(lease.deadline) + UNCERTAINTY_MS;
    return [boundedBy(signal, () => broker.release(queue, id, ours, leased, { signal }))];
  });
  const failures = (await Promise.allSettled(given)).filter((result) => result.status === 'rejected');
  limit.clear();
  if (failures.length === 0) return;
  log.warn(
    `${String(failures.length)} leases of unfinished tasks could not be given back ` +
      `(${messageOf(failures[0]?.reason)}); they run out by themselves.`,
  );
}
