import { HeartbeatError } from '../errors.js';
import { Lease } from '../lease/lease.js';

/** Names one task: ids are unique within a queue only. */
export interface TaskRef {
  /** Not empty. */
  readonly id: string;
  /** The queue the task was taken from, or belongs to; not blank, and not beginning with `}`, which would break a cluster's hash tag. */
  readonly queue: string;
}

/** A task as a worker takes it up. */
export interface Task extends TaskRef {
  /** What kind of work it is, such as `email:send`; not empty. */
  readonly type: string;
  /** Shown by tools beside the task; a string is taken as UTF-8. The bytes are not copied: do not change them while the task runs. */
  readonly payload?: Uint8Array | string | undefined;
}

/** What is known of a task when it starts. */
export interface TaskStart {
  readonly task: Task;
  /** When the work began: a `Date` or epoch milliseconds; now when left out. */
  readonly startedAt?: Date | number | undefined;
  /** When the work must be done: a `Date` or epoch milliseconds. Past it the lease is gone, with reason `deadline`. */
  readonly deadline?: Date | number | undefined;
  /** The lease under which the task was claimed from its queue; it will be renewed. Without one the task is only listed. */
  readonly lease?: Lease | undefined;
}

/** What is known of a task when it ends. */
export interface TaskFinish {
  readonly task: TaskRef;
  /** The lease it ran under: tells this run from another of the same task. Without it the oldest run is meant. */
  readonly lease?: Lease | undefined;
}

/** A task, or an event about one, that cannot be what was meant. Code `E_TASK`. */
export class InvalidTaskError extends HeartbeatError {
  /** The field that is wrong, such as `task.id`. */
  readonly field: string;

  constructor(field: string, value: unknown, rule: string) {
    super('E_TASK', `${field} must be ${rule}, but is ${describe(value)}`);
    this.field = field;
  }
}

/** @throws {InvalidTaskError} naming the first field that is wrong. */
export function checkTaskStart(value: unknown): asserts value is TaskStart {
  checkRecord('payload', value);
  checkTask(value['task']);
  checkMoment('startedAt', value['startedAt']);
  checkMoment('deadline', value['deadline']);
  checkLease(value['lease']);
}

/** @throws {InvalidTaskError} naming the first field that is wrong. */
export function checkTaskFinish(value: unknown): asserts value is TaskFinish {
  checkRecord('payload', value);
  checkTaskRef(value['task']);
  checkLease(value['lease']);
}

function checkTask(value: unknown): asserts value is Task {
  checkTaskRef(value);
  const { type, payload } = value as TaskRef & { type?: unknown; payload?: unknown };
  if (typeof type !== 'string' || type === '')
    throw new InvalidTaskError('task.type', type, 'a string that is not empty');
  if (payload !== undefined && typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
    throw new InvalidTaskError('task.payload', payload, 'a Uint8Array, a Buffer or a string');
  }
}

function checkTaskRef(value: unknown): asserts value is TaskRef {
  checkRecord('task', value);
  const { id, queue } = value;
  if (typeof id !== 'string' || id === '') throw new InvalidTaskError('task.id', id, 'a string that is not empty');
  if (typeof queue !== 'string' || !isKeyName(queue)) throw new InvalidTaskError('task.queue', queue, KEY_NAME_RULE);
}

function checkMoment(field: string, value: unknown): void {
  if (value === undefined) return;
  const valid = (value instanceof Date || typeof value === 'number') && !Number.isNaN(new Date(value).getTime());
  if (!valid) throw new InvalidTaskError(field, value, 'a valid Date or epoch milliseconds');
}

function checkLease(value: unknown): void {
  if (value !== undefined && !(value instanceof Lease)) throw new InvalidTaskError('lease', value, 'a Lease');
}

function checkRecord(field: string, value: unknown): asserts value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new InvalidTaskError(field, value, 'an object');
}

/** The rule for names that become part of a Redis key inside a hash tag. */
export const KEY_NAME_RULE = 'a string that is not blank and does not begin with "}"';

export function isKeyName(name: string): boolean {
  return name.trim() !== '' && !name.startsWith('}');
}

/** Names a value without showing content that may be a secret: payloads do not belong into logs. */
function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (value === null || ['undefined', 'number', 'boolean', 'bigint'].includes(typeof value)) return String(value);
  if (value instanceof Date) return 'an invalid Date';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
