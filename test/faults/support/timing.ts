/** The options of the app, in milliseconds: as short as they may be, so that the faults are over soon. */
export const TIMING = { interval: 500, ttl: 2000, leaseDuration: 4000, beatTimeout: 300 } as const;

/** Scores are whole seconds, rounded down: a renewal may promise this much less than it asks for. */
const ROUNDING_MS = 1000;

/** A lease that is gone may be believed until the next renewal has said so: the longest time that this may take. */
export const LONGEST_BELIEF_MS = TIMING.interval + TIMING.beatTimeout;

/** What is left of every lease at any moment, as long as beats succeed. */
export const LEFT_OF_LEASE_MS = TIMING.leaseDuration - ROUNDING_MS - TIMING.interval;

/**
 * Shorter than what is left of a lease, by the time that the first renewal after it may take and by what a busy machine
 * may add to both.
 */
export const SHORT_MS = LEFT_OF_LEASE_MS - LONGEST_BELIEF_MS - 700;

/** Longer than any lease, and than it may take to tell of its end. */
export const LONG_MS = TIMING.leaseDuration + 1000;

/** How late workers may be told that their lease is gone. */
export const TOLD_LATE_MS = { median: 100, worst: 250 } as const;

/** Fewer lines than this for any one fault. */
export const LOG_LINES = 10;
