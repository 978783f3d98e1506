import { describe, expect, it } from 'vitest';
import {
  HeartbeatModule,
  HeartbeatOptionError,
  MemoryBroker,
  type HeartbeatModuleOptions,
  type HostProcess,
} from '../../src/index.js';
import { resolveOptions } from '../../src/heartbeat.options.js';
import { thisProcess } from '../../src/host-process.js';

const host: HostProcess = { ...thisProcess, hostname: () => 'box', processors: () => 12 };

function errorOf(options: unknown): HeartbeatOptionError {
  try {
    HeartbeatModule.forRoot(options as HeartbeatModuleOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(HeartbeatOptionError);
    return error as HeartbeatOptionError;
  }
  return expect.unreachable(`accepted ${JSON.stringify(options)}`);
}

describe('options', () => {
  it('have defaults', () => {
    expect(resolveOptions({}, host)).toEqual({
      connection: 'redis://127.0.0.1:6379',
      broker: undefined,
      enabled: true,
      host: 'box',
      concurrency: 12,
      queues: { default: 1 },
      strictPriority: false,
      interval: 5000,
      ttl: 10_000,
      leaseDuration: 30_000,
      drainTimeout: 20_000,
      beatTimeout: 2000,
      pruneAfter: 3_600_000,
    });
  });

  it('fit a chosen interval by default', () => {
    expect(resolveOptions({ interval: 20_000 }, host)).toMatchObject({
      ttl: 40_000,
      leaseDuration: 60_000,
      beatTimeout: 2000,
      pruneAfter: 3_600_000,
    });
    expect(resolveOptions({ interval: 500 }, host)).toMatchObject({
      ttl: 2000,
      leaseDuration: 30_000,
      beatTimeout: 200,
    });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no name');
      },
    ],
    ['is empty', () => ''],
    ['cannot be part of a key', () => '}box'],
  ])('take unknown-host where the machine’s name %s', (_, hostname) => {
    expect(resolveOptions({}, { ...host, hostname }).host).toBe('unknown-host');
  });

  it.each([
    ['interval', 499],
    ['interval', 1000.5],
    ['interval', '5000'],
    ['interval', Number.NaN],
    ['interval', Infinity],
    ['ttl', 9999],
    ['ttl', 20_000.5],
    ['leaseDuration', 14_999],
    ['drainTimeout', -1],
    ['beatTimeout', 5000],
    ['beatTimeout', 99],
    ['pruneAfter', 999],
    ['pruneAfter', -1],
    ['concurrency', 0],
    ['concurrency', 2.5],
    ['concurrency', 2_147_483_648],
    ['strictPriority', 'yes'],
    ['enabled', 1],
    ['host', ''],
    ['host', ' '],
    ['host', '}box'],
    ['connection', 'http://localhost'],
    ['connection', 'localhost:6379'],
    ['connection', 6379],
    ['connection', []],
    ['connection', { nodes: [] }],
    ['broker', {}],
    ['isGlobal', 'yes'],
  ])('refuse %s = %j, naming option, value and rule', (option, value) => {
    const error = errorOf({ [option]: value });
    expect(error).toMatchObject({ code: 'E_OPTION', option, value });
    expect(error.message).toContain(`"${option}" must be ${error.rule}`);
  });

  it.each([
    [{ interval: 500, ttl: 1999 }, 'ttl'],
    [{ interval: 500, leaseDuration: 1999 }, 'leaseDuration'],
    [{ interval: 11_000, leaseDuration: 30_000 }, 'leaseDuration'],
    [{ interval: 6000, ttl: 10_000 }, 'ttl'],
  ])('refuse %j, which do not fit together', (options, option) => {
    expect(errorOf(options)).toMatchObject({ option });
  });

  it.each([
    [{}, 'queues'],
    [{ '': 1 }, 'queues.'],
    [{ ' ': 1 }, 'queues. '],
    [{ '}x': 1 }, 'queues.}x'],
    [{ a: 0 }, 'queues.a'],
    [{ a: 1.5 }, 'queues.a'],
    [{ a: 2_147_483_648 }, 'queues.a'],
    [{ a: '1' }, 'queues.a'],
    [['default'], 'queues.0'],
  ])('refuse queues %j', (queues, option) => {
    expect(errorOf({ queues }).option).toBe(option);
  });

  it('refuse a connection beside a broker, and options that do not exist', () => {
    expect(errorOf({ broker: new MemoryBroker(), connection: 'redis://localhost' })).toMatchObject({
      option: 'broker',
    });
    expect(errorOf({ intervall: 5000 })).toMatchObject({ option: 'intervall' });
  });

  it('accept what is documented', () => {
    const accepted: HeartbeatModuleOptions[] = [
      {},
      { connection: 'redis://user:secret@localhost:6379/2' },
      { connection: 'rediss://localhost' },
      { connection: '/run/redis.sock' },
      { connection: { host: 'localhost', port: 6379 } },
      { connection: { sentinels: [{ host: 'localhost', port: 26379 }], name: 'main' } },
      { connection: [{ host: 'localhost', port: 7000 }] },
      { connection: { nodes: ['redis://localhost:7000'] } },
      { broker: new MemoryBroker(), isGlobal: true, interval: 500, ttl: 2000, leaseDuration: 2000, drainTimeout: 0 },
      { concurrency: 2_147_483_647, queues: { a: 2_147_483_647 } },
    ];
    for (const options of accepted) expect(() => HeartbeatModule.forRoot(options)).not.toThrow();
  });

  it('never show a password', () => {
    expect(errorOf({ connection: 'http://user:secret@localhost' }).message).not.toContain('secret');
  });
});
