#!lua flags=no-writes
--! keys
-- The bound pairs of topic and queue, in no order.
-- KEYS[1] prefix
-- ARGV[1] topic name or ''
-- Result: topic, queue, topic, queue, ...

local names = ARGV[1] ~= '' and { ARGV[1] } or call('HKEYS', PREFIX .. 'topics')
local pairs_found = {}
for _, name in ipairs(names) do
  local topic = call('HGET', PREFIX .. 'topics', name)
  for _, queue in ipairs(topic and call('SMEMBERS', PREFIX .. 't:' .. topic .. ':queues') or {}) do
    table.insert(pairs_found, name)
    table.insert(pairs_found, call('HGET', PREFIX .. 'q:' .. queue, 'name'))
  end
end
return pairs_found
