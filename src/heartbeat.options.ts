import * as v from 'valibot';
import { isClient, type RedisConnection } from './broker/redis/connection.js';
import type { Broker } from './broker/broker.js';
import { HeartbeatError } from './errors.js';
import type { HostProcess } from './host-process.js';
import { isKeyName, KEY_NAME_RULE } from './task/task.js';

/** Options of {@link HeartbeatModule}. All are optional; {@link OPTION_TABLE} has their defaults and rules. */
export interface HeartbeatOptions {
  /** Where Redis is: a URL, ioredis options, nodes of a cluster, or a client of the app's own. */
  readonly connection?: RedisConnection | undefined;
  /** Instead of `connection`: a `MemoryBroker`, or a broker of your own. It is yours to close. */
  readonly broker?: Broker | undefined;
  /** With false, the same providers are there, but nothing beats and nothing connects. */
  readonly enabled?: boolean | undefined;
  /** The name under which this machine is listed. */
  readonly host?: string | undefined;
  /** How many tasks this server works on at once: shown, not enforced. */
  readonly concurrency?: number | undefined;
  /** The queues this server takes tasks from, with their priorities: shown, not enforced. */
  readonly queues?: Readonly<Record<string, number>> | undefined;
  /** Whether a queue is only looked at when those of higher priority are empty: shown, not enforced. */
  readonly strictPriority?: boolean | undefined;
  /** Milliseconds between two beats. */
  readonly interval?: number | undefined;
  /** Milliseconds for which a beat counts: how soon a dead server is noticed. */
  readonly ttl?: number | undefined;
  /** Milliseconds for which leases are renewed. */
  readonly leaseDuration?: number | undefined;
  /** Milliseconds that running tasks have to finish at shutdown. */
  readonly drainTimeout?: number | undefined;
  /** Milliseconds that a beat, or any other call to the store, may take. */
  readonly beatTimeout?: number | undefined;
  /** Milliseconds after which what dead servers have left behind in Redis is removed; 0 for never. */
  readonly pruneAfter?: number | undefined;
}

/** {@link HeartbeatOptions} with all defaults filled in. */
export interface ResolvedHeartbeatOptions {
  readonly connection: RedisConnection;
  readonly broker: Broker | undefined;
  readonly enabled: boolean;
  readonly host: string;
  readonly concurrency: number;
  readonly queues: Readonly<Record<string, number>>;
  readonly strictPriority: boolean;
  readonly interval: number;
  readonly ttl: number;
  readonly leaseDuration: number;
  readonly drainTimeout: number;
  readonly beatTimeout: number;
  readonly pruneAfter: number;
}

/** An option that cannot work. Code `E_OPTION`. */
export class HeartbeatOptionError extends HeartbeatError {
  /** Such as `interval`, or `queues.emails`. */
  readonly option: string;
  readonly value: unknown;
  readonly rule: string;

  constructor(option: string, value: unknown, rule: string) {
    super('E_OPTION', `Heartbeat option "${option}" must be ${rule}, but is ${show(value)}`);
    this.option = option;
    this.value = value;
    this.rule = rule;
  }
}

const MAX_INT32 = 2_147_483_647;
const wholeNumber = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  v.pipe(v.number(), v.safeInteger(), v.minValue(least), v.maxValue(most));
const keyName = v.pipe(v.string(), v.check(isKeyName));

/** A timer of Node's cannot wait longer. */
const MAX_TIMER_MS = MAX_INT32;

interface Row<T> {
  readonly schema: v.GenericSchema<unknown, T>;
  readonly rule: string;
  /** How the README writes the default. */
  readonly defaultText: string;
  readonly default: (resolved: ResolvedHeartbeatOptions, host: HostProcess) => T;
  /** What the value must be to the options above it. */
  readonly fits?: (value: T, resolved: ResolvedHeartbeatOptions) => boolean;
  readonly doc: string;
}

type Table = { readonly [K in keyof ResolvedHeartbeatOptions]: Row<ResolvedHeartbeatOptions[K]> };

/** Every option: its rule, its default, what it is for. Validation and the README's table follow from it. */
export const OPTION_TABLE: Table = {
  connection: {
    schema: v.custom<RedisConnection>(isConnection),
    rule: 'a redis:// or rediss:// URL, the absolute path of a Unix socket, ioredis options, cluster nodes, or an ioredis client',
    defaultText: '`redis://127.0.0.1:6379`',
    default: () => 'redis://127.0.0.1:6379',
    doc: 'Where Redis is. A client of your own is never closed: its options are used for a connection of our own. A `keyPrefix` is not applied, since asynq knows none.',
  },
  broker: {
    schema: v.optional(v.custom<Broker>(isBroker)),
    rule: 'an object with the methods of Broker, and not together with "connection"',
    defaultText: 'none',
    default: () => undefined,
    doc: 'Instead of `connection`: `new MemoryBroker()`, or a broker of your own. It is yours to close.',
  },
  enabled: {
    schema: v.boolean(),
    rule: 'true or false',
    defaultText: '`true`',
    default: () => true,
    doc: 'With `false` the same providers are there, but nothing beats and nothing connects. Exclusive tasks are refused then.',
  },
  host: {
    schema: keyName,
    rule: KEY_NAME_RULE,
    defaultText: "the machine's name, or `unknown-host`",
    default: (_, host) => hostnameOf(host),
    doc: 'The name under which this machine is listed.',
  },
  concurrency: {
    schema: wholeNumber(1, MAX_INT32),
    rule: `a whole number from 1 to ${String(MAX_INT32)}`,
    defaultText: 'the number of processors',
    default: (_, host) => host.processors(),
    doc: 'How many tasks this server works on at once. Shown to readers, not enforced.',
  },
  queues: {
    schema: v.pipe(
      v.record(keyName, wholeNumber(1, MAX_INT32)),
      v.check((queues) => Object.keys(queues).length > 0),
    ),
    rule: `at least one queue: names that are not blank and do not begin with "}", priorities that are whole numbers from 1 to ${String(MAX_INT32)}`,
    defaultText: '`{ default: 1 }`',
    default: () => ({ default: 1 }),
    doc: 'The queues this server takes tasks from, with their priorities. Shown to readers, not enforced.',
  },
  strictPriority: {
    schema: v.boolean(),
    rule: 'true or false',
    defaultText: '`false`',
    default: () => false,
    doc: 'Whether a queue is only looked at when those of higher priority are empty. Shown to readers, not enforced.',
  },
  interval: {
    schema: wholeNumber(500, MAX_TIMER_MS),
    rule: `a whole number of milliseconds from 500 to ${String(MAX_TIMER_MS)}`,
    defaultText: '`5000`',
    default: () => 5000,
    doc: 'Milliseconds between two beats.',
  },
  ttl: {
    schema: wholeNumber(2000),
    rule: 'a whole number of milliseconds, at least 2000 and at least twice the interval',
    fits: (ttl, { interval }) => ttl >= 2 * interval,
    defaultText: 'twice the `interval`, but no less than `2000`',
    default: ({ interval }) => Math.max(2 * interval, 2000),
    doc: 'Milliseconds for which a beat counts: how soon a dead server is noticed.',
  },
  leaseDuration: {
    schema: wholeNumber(2000),
    rule: 'a whole number of milliseconds, at least 2000 (the format stores whole seconds) and at least three times the interval',
    fits: (duration, { interval }) => duration >= 3 * interval,
    defaultText: '`30000`, or three times a longer `interval`',
    default: ({ interval }) => Math.max(30_000, 3 * interval),
    doc: "Milliseconds for which leases are renewed: how soon a dead server's tasks are free.",
  },
  drainTimeout: {
    schema: wholeNumber(0, MAX_TIMER_MS),
    rule: `a whole number of milliseconds from 0 to ${String(MAX_TIMER_MS)}`,
    defaultText: '`20000`',
    default: () => 20_000,
    doc: 'Milliseconds that running tasks have to finish at shutdown, before their leases are given back.',
  },
  beatTimeout: {
    schema: wholeNumber(100),
    rule: 'a whole number of milliseconds, at least 100 and less than the interval',
    fits: (timeout, { interval }) => timeout < interval,
    defaultText: '40 % of the `interval`, but no more than `2000`',
    default: ({ interval }) => Math.min(Math.floor(0.4 * interval), 2000),
    doc: 'Milliseconds that a beat, or any other call to the store, may take.',
  },
  pruneAfter: {
    schema: v.union([v.literal(0), wholeNumber(1000)]),
    rule: 'a whole number of milliseconds, at least 1000, or 0',
    defaultText: '`3600000`',
    default: () => 3_600_000,
    doc: 'Milliseconds after which index entries of dead servers, and leases of their exclusive tasks, are removed by whoever beats; `0` for never.',
  },
};

/** @throws {HeartbeatOptionError} for the first option that cannot work, naming it, its value and the rule. */
export function resolveOptions(given: HeartbeatOptions, host: HostProcess): ResolvedHeartbeatOptions {
  const options: Record<string, unknown> = { ...given };
  for (const name of Object.keys(options)) {
    if (!(name in OPTION_TABLE)) {
      throw new HeartbeatOptionError(
        name,
        options[name],
        `left out: there are only ${Object.keys(OPTION_TABLE).join(', ')}`,
      );
    }
  }
  if (given.broker !== undefined && given.connection !== undefined) {
    throw new HeartbeatOptionError('broker', given.broker, OPTION_TABLE.broker.rule);
  }
  // The table is in an order in which defaults and rules look at earlier options only.
  const resolved: Record<string, unknown> = {};
  for (const [name, row] of Object.entries<Row<unknown>>(OPTION_TABLE as unknown as Record<string, Row<unknown>>)) {
    const sofar = resolved as unknown as ResolvedHeartbeatOptions;
    resolved[name] = options[name] === undefined ? row.default(sofar, host) : check(name, options[name], row, sofar);
  }
  return resolved as unknown as ResolvedHeartbeatOptions;
}

function check(name: string, value: unknown, row: Row<unknown>, resolved: ResolvedHeartbeatOptions): unknown {
  const result = v.safeParse(row.schema, value);
  if (!result.success) {
    const { path } = result.issues[0];
    const at = path?.map(({ key }) => `.${String(key)}`).join('') ?? '';
    throw new HeartbeatOptionError(name + at, path ? path.at(-1)?.value : value, row.rule);
  }
  if (row.fits && !row.fits(value, resolved)) throw new HeartbeatOptionError(name, value, row.rule);
  return value;
}

function hostnameOf(host: HostProcess): string {
  try {
    const name = host.hostname();
    return isKeyName(name) ? name : 'unknown-host';
  } catch {
    return 'unknown-host';
  }
}

function isConnection(value: unknown): boolean {
  if (typeof value === 'string') return value.startsWith('/') || isRedisUrl(value);
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value !== 'object' || value === null) return false;
  if (isClient(value)) return true;
  return !('nodes' in value) || (Array.isArray(value.nodes) && value.nodes.length > 0);
}

function isRedisUrl(value: string): boolean {
  return URL.canParse(value) && ['redis:', 'rediss:'].includes(new URL(value).protocol);
}

const BROKER_METHODS = ['writeState', 'renew', 'acquire', 'release', 'clear', 'close'] satisfies (keyof Broker)[];

function isBroker(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return BROKER_METHODS.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

/** Names a value; what is not plain may hold a password. */
function show(value: unknown): string {
  if (typeof value === 'string') {
    const shown = URL.canParse(value) && value.includes('@') ? value.replace(/\/\/[^@]*@/, '//***@') : value;
    return JSON.stringify(shown);
  }
  if (value === undefined || value === null || ['number', 'boolean', 'bigint'].includes(typeof value))
    return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  return typeof value === 'object' && Object.keys(value).length === 0 ? 'an empty object' : `a ${typeof value}`;
}
