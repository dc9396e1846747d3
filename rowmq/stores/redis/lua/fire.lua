#!lua
--! keys seqs queues writing life pushing
-- Push a schedule's message for one tick and set the following one, if the tick is its next one still.
-- KEYS[1] prefix
-- ARGV[1] schedule name, [2] tick, [3] following tick, [4] now or '', [5] the tick as text, for the copy's id
-- Result: 0 if the tick is not to be fired, {'duplicate', id} or {'full', ...} as push.lua, or 1

local now, known = clock(ARGV[4]), call('HGET', PREFIX .. 'schedules', ARGV[1])
local values = known and unpacked(known, 5)
if not values or values[4] == '1' or values[3] ~= ARGV[2] then
  return 0
end
local queue = queue_of(values[1])
local entries, why, what = plan(queue, copies({ said_of(values[5]) }, ARGV[5]), now)
if not entries then
  return { why, what, queue.name }
end
perform(queue, entries, now)
values[3] = ARGV[3]
call('HSET', PREFIX .. 'schedules', ARGV[1], packed(values))
write_all()
wake()
return 1
