#!lua flags=no-writes
--! keys failures
-- Failures as far as they are shown.
-- KEYS[1] prefix
-- ARGV[1] bytes of an error at most, then for each: seq of the message, place among its failures (-1: the last)
-- Result: for each that there is {seq, packed as failures.lua has it with the error cut, bytes of the error, 1 if cut}

local found = {}
for place = 2, #ARGV, 2 do
  local blob = call('LINDEX', PREFIX .. 'f:' .. ARGV[place], ARGV[place + 1])
  if blob then
    local short = excerpt(blob, tonumber(ARGV[1]))
    table.insert(found, { ARGV[place], unpack(short) })
  end
end
return found
