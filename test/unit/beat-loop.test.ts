import { describe, expect, it } from 'vitest';
import { BeatJournal } from '../../src/beat/beat-journal.js';
import { BeatLoop, type BeatHistory } from '../../src/beat/beat-loop.js';
import type { BeatReport } from '../../src/beat/beat.js';
import { FakeClock, flush } from '../support/fake-clock.js';
import { FakeLog } from '../support/fake-log.js';

function loopOf() {
  const clock = new FakeClock();
  const log = new FakeLog();
  const journal = new BeatJournal(log, clock);
  const histories: BeatHistory[] = [];
  const outages: number[] = [];
  const begun: number[] = [];
  const start = clock.steady();
  const state = { duration: 0, ok: true, clockDifference: 0 };
  const beat = async (): Promise<BeatReport> => {
    begun.push(clock.steady() - start);
    const { ok, duration, clockDifference } = state;
    if (duration > 0) await new Promise<void>((resolve) => clock.setTimeout(resolve, duration));
    return {
      ok,
      startedAt: new Date(clock.now()),
      duration,
      activeTasks: 0,
      overdueTasks: 0,
      renewed: 0,
      gone: 0,
      clockDifference,
      errors: ok ? [] : [new Error('connect ECONNREFUSED')],
    };
  };
  const loop = new BeatLoop(
    beat,
    async () => ({ ...(await beat()), activeTasks: -1 }),
    (history) => {
      histories.push(history);
      const outage = journal.enter(history);
      if (outage !== undefined) outages.push(outage);
    },
    clock,
    () => 1 - Number.EPSILON,
  );
  return { clock, log, loop, histories, outages, begun, state };
}

describe('BeatLoop', () => {
  it('skips ticks that fall into a running beat, and counts them', async () => {
    const { clock, loop, histories, begun, state } = loopOf();
    state.duration = 1000;
    loop.tick();
    loop.tick();
    loop.tick();
    await clock.advance(1000);
    expect(begun).toEqual([0]);
    expect(histories).toMatchObject([{ skippedTicks: 2 }]);
    loop.tick();
    await clock.advance(1000);
    expect(histories).toMatchObject([{ skippedTicks: 2 }, { skippedTicks: 0 }]);
  });

  it('gives who asks a beat that begins after the question, one for all who ask', async () => {
    const { clock, loop, begun, state } = loopOf();
    state.duration = 1000;
    loop.tick();
    const asked = [loop.now(), loop.now()];
    await clock.advance(2000);
    expect(begun).toEqual([0, 1000]);
    expect(await asked[0]).toBe(await asked[1]);
  });

  it('tries again soon after a failure, with back-off, without waiting for the tick', async () => {
    const { clock, loop, begun, state, histories } = loopOf();
    state.ok = false;
    loop.tick();
    await clock.advance(10_000);
    const gaps = begun.slice(1).map((at, index) => Math.round(at - (begun[index] ?? 0)));
    expect(gaps.slice(0, 5)).toEqual([200, 400, 800, 1600, 2000]);
    expect(histories.at(-1)?.failures).toBe(begun.length);
    state.ok = true;
    await clock.advance(3000);
    expect(histories.at(-1)?.failures).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('spreads retries over half of the back-off', async () => {
    const clock = new FakeClock();
    const begun: number[] = [];
    const report = {
      ok: false,
      startedAt: new Date(),
      duration: 0,
      activeTasks: 0,
      overdueTasks: 0,
      renewed: 0,
      gone: 0,
      clockDifference: undefined,
      errors: [],
    };
    const loop = new BeatLoop(
      async () => (begun.push(clock.steady()), report),
      async () => report,
      () => undefined,
      clock,
      () => 0,
    );
    loop.tick();
    await clock.advance(101);
    expect(begun.map((at) => at - (begun[0] ?? 0))).toEqual([0, 100]);
    await loop.stop();
  });

  it('writes the state early between two beats, telling only of a failure, and not while a beat runs', async () => {
    const { clock, loop, begun, histories, state } = loopOf();
    loop.write();
    await flush();
    expect(begun).toHaveLength(1);
    expect(histories).toEqual([]);
    state.duration = 1000;
    loop.tick();
    loop.write();
    await clock.advance(1000);
    expect(begun).toHaveLength(2);
    state.ok = false;
    loop.write();
    await clock.advance(1000);
    expect(histories.at(-1)).toMatchObject({ failures: 1 });
    state.ok = true;
    await clock.advance(1300);
    expect(histories.at(-1)).toMatchObject({ ok: true, failures: 0 });
  });

  it('stops for good, after the beat that runs', async () => {
    const { clock, loop, begun, state } = loopOf();
    state.duration = 1000;
    state.ok = false;
    loop.tick();
    const asked = loop.now();
    let stopped = false;
    const stop = loop.stop().then(() => (stopped = true));
    await clock.advance(999);
    expect(stopped).toBe(false);
    await clock.advance(1);
    await stop;
    loop.tick();
    await clock.advance(10_000);
    expect(begun).toEqual([0]);
    expect(await asked).toMatchObject({ ok: false });
  });
});

describe('BeatJournal', () => {
  it('tells of an outage once, and once when it is over', async () => {
    const { clock, log, loop, outages, state } = loopOf();
    state.ok = false;
    loop.tick();
    await clock.advance(60_000);
    expect(log.warnings).toHaveLength(1);
    expect(log.warnings[0]).toContain('ECONNREFUSED');
    state.ok = true;
    await clock.advance(2000);
    expect(log.lines.filter(({ level }) => level === 'log')).toHaveLength(1);
    expect(outages).toHaveLength(1);
    expect(outages[0]).toBeGreaterThan(59_000);
  });

  it('warns of clocks that part by more than a second, once an episode', async () => {
    const { log, loop, state } = loopOf();
    const beatWith = async (difference: number): Promise<void> => {
      state.clockDifference = difference;
      loop.tick();
      await flush();
    };
    await beatWith(1000);
    expect(log.warnings).toHaveLength(0);
    await beatWith(-3600_000);
    await beatWith(-3600_000);
    expect(log.warnings).toEqual([expect.stringContaining('3600.0 s ahead of')]);
    await beatWith(0);
    await beatWith(2000);
    expect(log.warnings).toHaveLength(2);
    expect(log.warnings[1]).toContain('2.0 s behind');
  });
});
