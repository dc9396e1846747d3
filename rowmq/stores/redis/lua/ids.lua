#!lua flags=no-writes
--! keys
-- The numbers of queues.
-- KEYS[1] prefix
-- ARGV names of queues
-- Result: the id of each, or nil

local found = {}
for place, name in ipairs(ARGV) do
  found[place] = call('HGET', PREFIX .. 'queues', name)
end
return found
