import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisBroker } from '../../src/index.js';
import { serverOf, workerOf } from '../contract/broker.contract.js';
import { RedisServer } from '../support/redis-server.js';

/** What ioredis sends by itself when it connects; on an older Redis, which knows no HELLO, it goes on without. */
const HANDSHAKE = ['HELLO', 'SELECT', 'AUTH'];
const OLDEST = '5.0.0';

interface Sent {
  readonly name: string;
  readonly args: readonly string[];
}

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.port);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** Everything that Redis executes meanwhile, also from within scripts. */
async function sentDuring(work: () => Promise<void>): Promise<Sent[]> {
  const monitor = await new Redis(server.port).monitor();
  const sent: Sent[] = [];
  monitor.on('monitor', (_time: string, [name = '', ...args]: string[]) => {
    sent.push({ name: name.toUpperCase(), args });
  });
  await work();
  await redis.ping();
  await new Promise((resolve) => setTimeout(resolve, 200));
  monitor.disconnect();
  return sent.filter(({ name }) => !HANDSHAKE.includes(name) && name !== 'PING');
}

/** A broker on every path that it has. */
async function doEverything(): Promise<void> {
  const broker = new RedisBroker({ connection: server.url, pruneAfter: 1000 });
  const [a, b, c] = [workerOf('a'), workerOf('b'), workerOf('c')];
  const state = { server: serverOf('s'), ttl: 10_000 };
  await redis.zadd('asynq:{default}:lease', 1, 'left behind');
  await broker.writeState({ ...state, workers: [a, b] });
  await broker.writeState({ ...state, workers: [b, c] });
  await redis.del('asynq:workers:{host:1:s}');
  await broker.writeState({ ...state, workers: [b, c] });
  await redis.zadd('asynq:{q}:lease', 1, 'claimed');
  const grant = await broker.acquire('q', 'a', 30_000);
  await broker.acquire('q', 'a', 30_000);
  await broker.renew('q', ['a', 'claimed', 'gone'], 30_000);
  await broker.release('q', 'a', Number(grant?.expiresAt) + 60_000, 'expire');
  await broker.release('q', 'a', Number(grant?.expiresAt) + 60_000, 'remove');
  await broker.clear(serverOf('s'));
  await broker.close();
}

interface Argument {
  readonly token?: string;
  readonly since?: string;
  readonly arguments?: readonly Argument[];
}

/** Flat lists of names and values, as RESP2 has them, made objects. */
function objectOf(reply: unknown): Record<string, unknown> {
  if (!Array.isArray(reply)) return {};
  const entries: [string, unknown][] = [];
  for (let index = 0; index < reply.length; index += 2) entries.push([String(reply[index]), reply[index + 1]]);
  return Object.fromEntries(entries);
}

function argumentsOf(reply: unknown): Argument[] {
  if (!Array.isArray(reply)) return [];
  return reply.map((item) => {
    const { token, since, arguments: inner } = objectOf(item);
    return {
      ...(typeof token === 'string' && { token }),
      ...(typeof since === 'string' && { since }),
      arguments: argumentsOf(inner),
    };
  });
}

/** Tokens of a command that are younger than it is, with the version they came with. */
function youngTokens(args: readonly Argument[], since?: string): Map<string, string> {
  const tokens = new Map<string, string>();
  for (const argument of args) {
    const version = argument.since ?? since;
    if (argument.token && version) tokens.set(argument.token.toUpperCase(), version);
    for (const [token, inner] of youngTokens(argument.arguments ?? [], version)) tokens.set(token, inner);
  }
  return tokens;
}

const isYounger = (version: string, than: string): boolean =>
  version.localeCompare(than, undefined, { numeric: true }) > 0;

/** What of these commands a Redis of the oldest supported version would not understand. */
async function tooYoung(sent: readonly Sent[]): Promise<string[]> {
  const complaints = new Set<string>();
  for (const name of new Set(sent.map((each) => each.name))) {
    const docs = objectOf(objectOf(await redis.call('COMMAND', 'DOCS', name))[name.toLowerCase()]);
    const since = String(docs['since']);
    if (isYounger(since, OLDEST)) complaints.add(`${name} came with ${since}`);
    const tokens = youngTokens(argumentsOf(docs['arguments']));
    for (const { args } of sent.filter((each) => each.name === name)) {
      for (const arg of args) {
        const version = tokens.get(arg.toUpperCase());
        if (version && isYounger(version, OLDEST)) complaints.add(`${name} … ${arg} came with ${version}`);
      }
    }
  }
  return [...complaints];
}

describe('what is sent to Redis', () => {
  it('is known to Redis 5, commands and arguments', async () => {
    const sent = await sentDuring(doEverything);
    // All of it is here: a new command has to be looked at, and goes into the README's list of permissions.
    expect([...new Set(sent.map(({ name }) => name))].sort()).toEqual([
      'DEL',
      'EVAL',
      'EXEC',
      'EXISTS',
      'HDEL',
      'HLEN',
      'HSET',
      'INFO',
      'MULTI',
      'PEXPIRE',
      'PSETEX',
      'TIME',
      'ZADD',
      'ZRANGEBYSCORE',
      'ZREM',
      'ZREMRANGEBYSCORE',
      'ZSCORE',
    ]);
    expect(await tooYoung(sent)).toEqual([]);
  });

  it('would be found out if it were too young', async () => {
    const young = await tooYoung([
      { name: 'ZADD', args: ['key', 'XX', 'GT', 'CH', '1', 'a'] },
      { name: 'GETEX', args: ['key'] },
    ]);
    expect(young).toEqual(['ZADD … GT came with 6.2.0', 'GETEX came with 6.2.0']);
  });
});
