import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something holds, for what only the world outside can tell. Fails, saying what, when it takes too long. */
export async function until(what: string, holds: () => Promise<boolean> | boolean, ms = 10_000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${String(ms)} ms: ${what}`);
    await sleep(20);
  }
}
