#!lua flags=no-writes
--! keys
-- Schedules as a list shows them, in no order.
-- KEYS[1] prefix
-- ARGV[1] queue name or '', [2] bytes of a payload at most
-- Result: for each {name, queue name, spec, next tick, '1' if paused, beginning of the payload, '1' if binary, bytes of it}

local found, kept, SAID = {}, call('HGETALL', PREFIX .. 'schedules'), 11
for place = 1, #kept, 2 do
  local values = unpacked(kept[place + 1], 5)
  local queue = call('HGET', PREFIX .. 'q:' .. values[1], 'name')
  if ARGV[1] == '' or queue == ARGV[1] then
    local said = unpacked(values[5], SAID)
    local body = string.sub(said[2], 1, tonumber(ARGV[2]))
    table.insert(found, { kept[place], queue, values[2], values[3], values[4], body, said[3], #said[2] })
  end
end
return found
