#!lua flags=no-writes
--! keys
-- Samples of a span, of one queue or all.
-- KEYS[1] prefix
-- ARGV[1] span, [2] since when, [3] queue name or ''
-- Result: of each queue {name, its samples, oldest first}

local found = {}
for _, name in ipairs(ARGV[3] ~= '' and { ARGV[3] } or call('HKEYS', PREFIX .. 'queues')) do
  local queue = call('HGET', PREFIX .. 'queues', name)
  if queue then
    local key = queue_key(queue, 'samples:' .. ARGV[1])
    table.insert(found, { name, call('ZRANGE', key, ARGV[2], '+inf', 'BYSCORE') })
  end
end
return found
