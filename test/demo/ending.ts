import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from './job.js';

/** Why a run ends: with an error when the store could not be used. */
export type Ending = 'finished' | 'stopped' | 'late' | Error;

/** Resolves with what comes first. */
export async function endingOf(job: Job, stop: AbortSignal, timeLimit: number): Promise<Ending> {
  const over = new AbortController();
  const either = AbortSignal.any([stop, over.signal]);
  // The two sleep until they are told otherwise, or until the time is over.
  const late = sleep(timeLimit, 'late' as const, { signal: either }).catch(() => 'stopped' as const);
  const finished = job.finished.then(() => 'finished' as const);
  const ending = await Promise.race([finished, job.storeGivenUp, late]);
  over.abort();
  return ending;
}

export function explain(ending: Ending): string {
  if (ending instanceof Error) return 'The store cannot be used: ending.';
  return {
    finished: 'All files have been dealt with: ending.',
    stopped: 'Asked to end: no new files, what runs may finish.',
    late: 'Time is over: no new files, what runs may finish.',
  }[ending];
}
