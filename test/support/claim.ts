import type { Cluster, Redis } from 'ioredis';

export interface ClaimedTask {
  id: string;
  /** The encoded TaskMessage. */
  msg: Buffer;
  /** Unix seconds of the store's clock: the score in the lease set. */
  leaseExpiresAt: number;
}

/**
 * Takes the oldest task of a queue, in asynq's way. An id whose task hash is gone is dropped and the next one taken,
 * where asynq would leave the id in the active list for ever.
 *
 * KEYS[1] asynq:{<queue>}:pending
 * KEYS[2] asynq:{<queue>}:paused
 * KEYS[3] asynq:{<queue>}:active
 * KEYS[4] asynq:{<queue>}:lease
 * ARGV[1] prefix of the task hashes, asynq:{<queue>}:t: — the id comes from the list, the hash tag is the same
 * ARGV[2] length of the lease in seconds
 *
 * Returns nil when the queue is paused or empty, else {id, msg, expiry of the lease in Unix seconds}.
 */
const CLAIM = `
if redis.call('EXISTS', KEYS[2]) == 1 then
  return nil
end
while true do
  local id = redis.call('RPOPLPUSH', KEYS[1], KEYS[3])
  if not id then
    return nil
  end
  local task = ARGV[1] .. id
  local msg = redis.call('HGET', task, 'msg')
  if msg then
    local time = redis.call('TIME')
    local expiry = math.floor(time[1] + time[2] / 1000000 + ARGV[2])
    redis.call('HSET', task, 'state', 'active')
    redis.call('HDEL', task, 'pending_since')
    redis.call('ZADD', KEYS[4], expiry, id)
    return {id, msg, expiry}
  end
  redis.call('LREM', KEYS[3], 0, id)
end
`;

/**
 * Finishes an active task, in asynq's way: neither owner nor expiry of the lease is checked, and when one of the three
 * places holds nothing, what was removed before stays removed.
 *
 * KEYS[1] asynq:{<queue>}:active
 * KEYS[2] asynq:{<queue>}:lease
 * KEYS[3] asynq:{<queue>}:t:<task id>
 * KEYS[4] asynq:{<queue>}:processed — also the prefix of the day's counter, whose day only the script knows
 * ARGV[1] task id
 * ARGV[2] how long a day's counter is kept, in seconds
 * ARGV[3] the largest total, after which it starts at 1 again
 *
 * Returns 1, or 0 when the task was not active any more.
 */
const FINISH = `
local uniqueKey = redis.call('HGET', KEYS[3], 'unique_key')
if redis.call('LREM', KEYS[1], 0, ARGV[1]) == 0 then
  return 0
end
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then
  return 0
end
if redis.call('DEL', KEYS[3]) == 0 then
  return 0
end

-- Redis gives scripts no calendar: the day in UTC from the days since 1970, in years that begin in March.
local now = tonumber(redis.call('TIME')[1])
local days = math.floor(now / 86400) + 719468
local era = math.floor(days / 146097)
local dayOfEra = days - era * 146097
local yearOfEra = math.floor(
  (dayOfEra - math.floor(dayOfEra / 1460) + math.floor(dayOfEra / 36524) - math.floor(dayOfEra / 146096)) / 365)
local dayOfYear = dayOfEra - (365 * yearOfEra + math.floor(yearOfEra / 4) - math.floor(yearOfEra / 100))
local month = math.floor((5 * dayOfYear + 2) / 153)
local day = dayOfYear - math.floor((153 * month + 2) / 5) + 1
local year = yearOfEra + era * 400
if month < 10 then
  month = month + 3
else
  month = month - 9
  year = year + 1
end

local daily = KEYS[4] .. string.format(':%04d-%02d-%02d', year, month, day)
if redis.call('INCR', daily) == 1 then
  redis.call('EXPIREAT', daily, now + ARGV[2])
end
if redis.call('GET', KEYS[4]) == ARGV[3] then
  redis.call('SET', KEYS[4], 1)
else
  redis.call('INCR', KEYS[4])
end
if uniqueKey and uniqueKey ~= '' and redis.call('GET', uniqueKey) == ARGV[1] then
  redis.call('DEL', uniqueKey)
end
return 1
`;

const STATS_SECONDS = 90 * 24 * 60 * 60;
const LARGEST_TOTAL = '9223372036854775807';

/** Takes the next task of a queue; undefined when there is none or the queue is paused. */
export async function claimTask(
  redis: Redis | Cluster,
  queue: string,
  leaseSeconds = 30,
): Promise<ClaimedTask | undefined> {
  const prefix = `asynq:{${queue}}:`;
  const keys = ['pending', 'paused', 'active', 'lease'].map((name) => prefix + name);
  // Called by name, since only so the reply comes as a Buffer: a task message is binary.
  const reply = await redis.callBuffer('EVAL', CLAIM, keys.length, ...keys, `${prefix}t:`, leaseSeconds);
  if (reply === null) return undefined;
  const [id, msg, leaseExpiresAt] = reply as [Buffer, Buffer, number];
  return { id: id.toString(), msg, leaseExpiresAt };
}

/** Finishes a task; false when it was not active any more. */
export async function finishTask(redis: Redis | Cluster, queue: string, id: string): Promise<boolean> {
  const prefix = `asynq:{${queue}}:`;
  const keys = ['active', 'lease', `t:${id}`, 'processed'].map((name) => prefix + name);
  const reply = await redis.call('EVAL', FINISH, keys.length, ...keys, id, STATS_SECONDS, LARGEST_TOTAL);
  return reply === 1;
}
