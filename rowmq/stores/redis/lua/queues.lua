#!lua flags=no-writes
--! keys
-- Queues with their settings.
-- KEYS[1] prefix
-- ARGV names of queues; none means all
-- Result: for each queue that exists {id, name of the dead-letter queue or '', fields and values}

local names = #ARGV > 0 and ARGV or call('HKEYS', PREFIX .. 'queues')
local found = {}
for _, name in ipairs(names) do
  local id = call('HGET', PREFIX .. 'queues', name)
  if id then
    local key = PREFIX .. 'q:' .. id
    local target = call('HGET', key, 'dead_letter')
    local letters = target and call('HGET', PREFIX .. 'q:' .. target, 'name') or ''
    table.insert(found, { id, letters, call('HGETALL', key) })
  end
end
return found
