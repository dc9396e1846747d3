#!lua flags=no-writes
--! keys
-- All schedules, in no order.
-- KEYS[1] prefix
-- Result: for each {name, queue name, spec, next tick, '1' if paused, message, packed}

local found, kept = {}, call('HGETALL', PREFIX .. 'schedules')
for place = 1, #kept, 2 do
  local values = unpacked(kept[place + 1], 5)
  local queue = call('HGET', PREFIX .. 'q:' .. values[1], 'name')
  table.insert(found, { kept[place], queue, values[2], values[3], values[4], values[5] })
end
return found
