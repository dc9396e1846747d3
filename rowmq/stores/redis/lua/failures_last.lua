#!lua flags=no-writes
--! keys failures
-- A message's last failures, oldest first, and how many it has.
-- KEYS[1] prefix
-- ARGV[1] seq, [2] how many at most, [3] bytes of an error at most
-- Result: {how many there are; for each {packed as failures.lua has it with the error cut, bytes of the error, 1 if cut}}

local key, found = PREFIX .. 'f:' .. ARGV[1], {}
local count = call('LLEN', key)
-- One by one: all of them at once may be large.
for place = math.max(0, count - tonumber(ARGV[2])), count - 1 do
  table.insert(found, excerpt(call('LINDEX', key, place), tonumber(ARGV[3])))
end
return { count, found }
