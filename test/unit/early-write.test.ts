import { describe, expect, it } from 'vitest';
import { EarlyWrite } from '../../src/beat/early-write.js';
import { TaskRegistry } from '../../src/task/task-registry.js';
import { FakeClock } from '../support/fake-clock.js';

function early() {
  const clock = new FakeClock();
  const start = clock.steady();
  const writes: { at: number; ids: string[] }[] = [];
  const beat = { writtenUpTo: 0 };
  const registry: TaskRegistry = new TaskRegistry(clock, {
    leaseLost: () => undefined,
    started: () => {
      writer.started();
    },
  });
  const writer = new EarlyWrite(clock, { registry, beat }, () => {
    writes.push({ at: clock.steady() - start, ids: [...registry.runs()].map(({ id }) => id) });
    beat.writtenUpTo = registry.started;
  });
  const run = (id: string) => registry.start({ task: { id, type: 't', queue: 'q' } });
  return { clock, writes, beat, registry, run };
}

describe('EarlyWrite', () => {
  it('makes a task that has run for half a second visible within its first second', async () => {
    const { clock, writes, run } = early();
    for (const offset of [0, 70, 249, 251, 499, 730]) {
      const { writes: seen, clock: own, run: start } = early();
      start('first');
      await own.advance(offset);
      start('second');
      await own.advance(1000);
      const visible = seen.find(({ ids }) => ids.includes('second'))?.at ?? Infinity;
      expect(visible - offset).toBeLessThan(1000);
    }
    run('a');
    await clock.advance(5000);
    expect(writes).toHaveLength(1);
    expect(writes[0]?.at).toBeLessThanOrEqual(500);
  });

  it('costs nothing for tasks that are quicker', async () => {
    const { clock, writes, registry, run } = early();
    for (let n = 0; n < 50; n += 1) {
      const quick = run(String(n));
      await clock.advance(200);
      registry.end(quick);
    }
    expect(writes).toEqual([]);
  });

  it('writes no more than about once a second, for all that have started', async () => {
    const { clock, writes, run } = early();
    for (let n = 0; n < 100; n += 1) {
      run(String(n));
      await clock.advance(100);
    }
    expect(writes.length).toBeGreaterThanOrEqual(9);
    expect(writes.length).toBeLessThanOrEqual(11);
  });

  it('leaves to a beat what a beat has told', async () => {
    const { clock, writes, beat, registry, run } = early();
    run('a');
    await clock.advance(100);
    beat.writtenUpTo = registry.started;
    await clock.advance(5000);
    expect(writes).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
