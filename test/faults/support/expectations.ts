import { expect } from 'vitest';
import { median } from './row.js';
import { LOG_LINES, LONGEST_BELIEF_MS, TOLD_LATE_MS } from './timing.js';
import type { Verdict } from './verdict.js';

/** What holds of every fault. */
export function expectGood(verdict: Verdict): void {
  const { wronglyLost, believed, toldLate, mistold, deadSeen, unhandled, logLines } = verdict;
  expect.soft(wronglyLost, 'leases lost that should not have been').toEqual([]);
  expect.soft(mistold, 'workers told otherwise than once').toEqual([]);
  expect.soft(believed, 'believed though gone').toBeLessThanOrEqual(LONGEST_BELIEF_MS);
  expect.soft(median(toldLate), 'told late, median').toBeLessThanOrEqual(TOLD_LATE_MS.median);
  expect.soft(Math.max(0, ...toldLate), 'told late, worst').toBeLessThanOrEqual(TOLD_LATE_MS.worst);
  expect.soft(deadSeen, 'what a reader sees of a dead server').toBe(0);
  expect.soft(unhandled, 'what reached the handlers of the process').toEqual([]);
  expect(logLines.length, `log lines:\n${logLines.join('\n')}`).toBeLessThan(LOG_LINES);
}
