#!lua flags=allow-oom
--! keys
-- Forget a consumer at once.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] consumer
-- Result: 1, or 0 if it was not registered

local queue = call('HGET', PREFIX .. 'queues', ARGV[1])
if not queue then
  return 0
end
call('ZREM', queue_key(queue, 'alive'), ARGV[2])
call('ZREM', queue_key(queue, 'births'), ARGV[2])
return call('HDEL', queue_key(queue, 'born'), ARGV[2])
