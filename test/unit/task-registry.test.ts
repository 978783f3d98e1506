import { describe, expect, it } from 'vitest';
import { Lease, type LeaseLossReason, type TaskStart } from '../../src/index.js';
import { TaskRegistry } from '../../src/task/task-registry.js';
import { FakeClock } from '../support/fake-clock.js';

function registryOf(): { clock: FakeClock; registry: TaskRegistry; lost: [string, LeaseLossReason][] } {
  const clock = new FakeClock();
  const lost: [string, LeaseLossReason][] = [];
  const registry = new TaskRegistry(clock, { leaseLost: (run, reason) => lost.push([run.id, reason]) });
  return { clock, registry, lost };
}

const task = (id = 'a', queue = 'q'): TaskStart => ({ task: { id, type: 't', queue } });
const ids = (registry: TaskRegistry): string[] => [...registry.runs()].map(({ queue, id }) => `${queue}/${id}`);

describe('TaskRegistry', () => {
  it('holds what has started and not finished', () => {
    const { registry } = registryOf();
    registry.start(task('a'));
    registry.start(task('b'));
    expect(ids(registry)).toEqual(['q/a', 'q/b']);
    registry.finish(task('a'));
    expect(ids(registry)).toEqual(['q/b']);
    expect(registry.size).toBe(1);
  });

  it('keeps the same id in two queues apart', () => {
    const { registry } = registryOf();
    registry.start(task('a', 'x'));
    registry.start(task('a', 'y'));
    registry.finish(task('a', 'x'));
    expect(ids(registry)).toEqual(['y/a']);
  });

  it('takes a finish without a start without a trace', () => {
    const { registry } = registryOf();
    expect(registry.finish(task('a'))).toBeUndefined();
    expect(registry.size).toBe(0);
    expect(ids(registry)).toEqual([]);
  });

  it('counts a start told twice with the same lease once', () => {
    const { clock, registry } = registryOf();
    const lease = new Lease(clock.now() + 1000, clock);
    expect(registry.start({ ...task(), lease })).toBe(registry.start({ ...task(), lease }));
    expect(registry.size).toBe(1);
  });

  describe('a task taken again is a new run', () => {
    it('which the finish of the old run, told by its lease, does not end', () => {
      const { clock, registry, lost } = registryOf();
      const first = new Lease(clock.now() + 1000, clock);
      const second = new Lease(clock.now() + 9000, clock);
      registry.start({ ...task(), lease: first });
      const again = registry.start({ ...task(), lease: second });
      expect(lost).toEqual([['a', 'lost']]);
      expect(first.isValid).toBe(false);
      registry.finish({ ...task(), lease: first });
      expect([...registry.runs()]).toEqual([again]);
      registry.finish({ ...task(), lease: first });
      expect(second.isValid).toBe(true);
      registry.finish({ ...task(), lease: second });
      expect(registry.size).toBe(0);
    });

    it('and without leases the oldest run ends first', () => {
      const { registry } = registryOf();
      const first = registry.start(task());
      const second = registry.start(task());
      const third = registry.start(task());
      expect(registry.size).toBe(3);
      registry.finish(task());
      expect(first.active).toBe(false);
      registry.end(second);
      expect([...registry.runs()]).toEqual([third]);
      registry.finish(task());
      expect(registry.size).toBe(0);
    });

    it('and the newest may end before the older ones', () => {
      const { registry } = registryOf();
      const first = registry.start(task());
      registry.end(registry.start(task()));
      expect([...registry.runs()]).toEqual([first]);
    });
  });

  it('tells who overruns the deadline of the task, leased or not', async () => {
    const { clock, registry, lost } = registryOf();
    registry.start({ ...task('local'), deadline: clock.now() + 1000 });
    registry.start({
      ...task('leased'),
      deadline: new Date(clock.now() + 2000),
      lease: new Lease(clock.now() + 9e6, clock),
    });
    registry.start({ ...task('free') });
    await clock.advance(1100);
    expect(lost).toEqual([['local', 'deadline']]);
    await clock.advance(1000);
    expect(lost).toEqual([
      ['local', 'deadline'],
      ['leased', 'deadline'],
    ]);
    expect([...registry.runs()].map((run) => run.overdue)).toEqual([true, true, false]);
  });

  it('tells nobody about a task that has finished', async () => {
    const { clock, registry, lost } = registryOf();
    registry.start({ ...task(), deadline: clock.now() + 1000 });
    registry.finish(task());
    await clock.advance(2000);
    expect(lost).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('repairs strings that are not well-formed, and still finds the task', () => {
    const { registry } = registryOf();
    registry.start(task('a\ud800'));
    expect(ids(registry)).toEqual(['q/a\ufffd']);
    registry.finish(task('a\ud800'));
    expect(registry.size).toBe(0);
  });

  it('says when it is idle', async () => {
    const { registry } = registryOf();
    await registry.whenIdle();
    registry.start(task('a'));
    registry.start(task('b'));
    let idle = false;
    const told = registry.whenIdle().then(() => (idle = true));
    registry.finish(task('a'));
    await Promise.resolve();
    expect(idle).toBe(false);
    registry.finish(task('b'));
    await told;
    expect(idle).toBe(true);
  });
});
