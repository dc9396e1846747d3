#!lua
--! keys
-- Create or replace a schedule: its queue's id, spec, next tick, paused, message, packed together.
-- KEYS[1] prefix
-- ARGV[1] schedule name, [2] queue name, [3] spec, [4] next tick, [5] '1' if paused, [6] message, packed
-- Result: 'missing' (the queue) or 'put'

local queue = call('HGET', PREFIX .. 'queues', ARGV[2])
if not queue then
  return 'missing'
end
call('HSET', PREFIX .. 'schedules', ARGV[1], packed({ queue, ARGV[3], ARGV[4], ARGV[5], ARGV[6] }))
return 'put'
