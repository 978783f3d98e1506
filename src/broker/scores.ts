/**
 * Scores are whole seconds of the store's clock. Rounded down, so that a record or lease never counts for longer than
 * was asked for.
 */
export function scoreAfter(storeNowMs: number, durationMs: number): number {
  return Math.floor((storeNowMs + durationMs) / 1000);
}
