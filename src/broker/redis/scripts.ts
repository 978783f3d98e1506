/**
 * Takes the lease of one id, unless somebody holds it by the store's own clock.
 *
 * KEYS[1] the queue's lease set
 * ARGV[1] task id
 * ARGV[2] for how many milliseconds
 * ARGV[3] the caller's epoch milliseconds, for a user that may not ask for TIME
 *
 * Returns { granted 1|0, the store's epoch milliseconds, score }. A holder keeps its lease at its very last moment, so
 * the time must have come strictly after it.
 */
export const ACQUIRE = `
if redis.replicate_commands then redis.replicate_commands() end
local now = tonumber(ARGV[3])
local time = redis.pcall('TIME')
if not time.err then now = time[1] * 1000 + math.floor(time[2] / 1000) end
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if held and now <= held * 1000 then return { 0, now, 0 } end
local score = math.floor((now + ARGV[2]) / 1000)
redis.call('ZADD', KEYS[1], score, ARGV[1])
return { 1, now, score }
`;

/**
 * Gives a lease back if it is still ours.
 *
 * KEYS[1] the queue's lease set
 * ARGV[1] task id
 * ARGV[2] the latest score that is ours: whoever took the lease after us has a later one
 * ARGV[3] the score to leave, or '' to remove the lease
 *
 * Returns 1 if it was ours, else 0.
 */
export const RELEASE = `
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not held or tonumber(held) > tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
elseif tonumber(held) > tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
end
return 1
`;

/**
 * Removes leases that ran out long ago and belong to no task: those of exclusive work whose server died. Leases of tasks
 * stay, for whoever recovers these.
 *
 * KEYS[1] the queue's lease set
 * ARGV[1] leases with a score before this one are old
 * ARGV[2] what the keys of the queue's tasks begin with; they lie in the same slot
 * ARGV[3] how many to look at
 *
 * Returns how many were removed.
 */
export const PRUNE_LEASES = `
local removed = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[3])) do
  if redis.call('EXISTS', ARGV[2] .. id) == 0 then removed = removed + redis.call('ZREM', KEYS[1], id) end
end
return removed
`;
