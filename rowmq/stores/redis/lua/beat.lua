#!lua flags=allow-oom
--! keys
-- Register a consumer, or keep it alive, and forget the dead of its queue.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] consumer, [3] time to live, [4] now or ''
-- Result: false if there is no such queue; else {index, count, 1 if it joined}

local queue, name = call('HGET', PREFIX .. 'queues', ARGV[1]), ARGV[2]
if not queue then
  return false
end
local now, births = clock(ARGV[4]), queue_key(queue, 'births')
local born, alive = queue_key(queue, 'born'), queue_key(queue, 'alive')
for _, dead in ipairs(call('ZRANGE', alive, '-inf', now, 'BYSCORE')) do
  call('ZREM', alive, dead)
  call('ZREM', births, dead)
  call('HDEL', born, dead)
end
local joined = call('HSETNX', born, name, now)
if joined == 1 then
  call('ZADD', births, call('INCR', PREFIX .. 'last_birth'), name)
end
call('ZADD', alive, now + tonumber(ARGV[3]), name)
return { call('ZRANK', births, name), call('ZCARD', births), joined }
