import { describe, it } from 'vitest';
import { Faults, type FaultyRig } from './support/faults.js';

const faults = Faults.on();

/** The commands of a beat, in order, when one task has started since the last; some are told apart by their key. */
const BOUNDARIES = [
  { before: 'TIME' },
  { before: 'ZADD', key: 'asynq:{emails}:lease' },
  { before: 'ZADD', key: 'asynq:{reports}:lease' },
  { before: 'ZADD', key: 'asynq:servers' },
  { before: 'ZADD', key: 'asynq:workers' },
  { before: 'MULTI' },
  { before: 'PSETEX' },
  { before: 'HSET' },
  { before: 'PEXPIRE' },
  { before: 'HLEN' },
  { before: 'EXEC' },
].map(({ before, key = '' }) => ({ before, key }));

/** Lets a beat send what comes before a command, holds that, and resolves when it is held. */
function held({ store }: FaultyRig, before: string, key: string): Promise<void> {
  let begun = false;
  let holding = false;
  return new Promise((resolve) => {
    store.proxy.gatekeeper = ([name = '', first = '']) => {
      const command = name.toUpperCase();
      begun ||= command === 'TIME';
      holding ||= begun && command === before && (key === '' || first === key);
      if (!holding) return;
      resolve();
      return new Promise(() => undefined);
    };
  });
}

describe('Redis killed during a beat', () => {
  it.each(BOUNDARIES)('before $before $key', ({ before, key }) =>
    faults.run({
      what: `Redis killed in a beat, before ${before} ${key}`.trim(),
      inflict: async (rig) => {
        const { store } = rig;
        const reached = held(rig, before, key);
        await rig.startTask('emails-late', 'emails');
        await reached;
        // What was sent before is executed when Redis has answered this.
        await store.judge.redis.ping();
        store.proxy.gatekeeper = undefined;
        await store.kill();
        await store.restart({ empty: false });
      },
    }),
  );
});
