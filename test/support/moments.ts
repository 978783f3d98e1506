/**
 * Milliseconds of the machine's monotonic clock: the same in all processes, and moved neither by a step of the wall
 * clock nor by a faked one.
 */
export function moment(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The moment at which this process's wall clock shows `epochMs`. */
export function momentOf(epochMs: number): number {
  return moment() + (epochMs - Date.now());
}
