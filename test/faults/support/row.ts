import { LONGEST_BELIEF_MS } from './timing.js';
import type { Verdict } from './verdict.js';

/** The one line that is printed for a fault. */
export function rowOf(verdict: Verdict): string {
  const { what, lasted, back, wronglyLost, believed, toldLate, deadSeen, unhandled, logLines } = verdict;
  return [
    `${what}, ${seconds(lasted)}`.padEnd(62),
    `beats back ${back === undefined ? 'never: it ended' : seconds(back)}`.padEnd(26),
    `lost wrongly ${String(wronglyLost.length)}`,
    `believed though gone ${seconds(believed)} (≤ ${seconds(LONGEST_BELIEF_MS)})`,
    (toldLate.length === 0 ? 'nobody to be told' : toldText(toldLate)).padEnd(31),
    `dead server seen ${String(deadSeen)}`,
    `unhandled ${String(unhandled.length)}`,
    `log lines ${String(logLines.length)}`,
  ].join(' | ');
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

function toldText(late: readonly number[]): string {
  return `told late ${ms(median(late))}, worst ${ms(Math.max(...late))}`;
}

function ms(value: number): string {
  return `${String(Math.round(value))} ms`;
}

function seconds(value: number): string {
  return `${(value / 1000).toFixed(2)} s`;
}
