#!lua flags=no-writes
--! keys
-- The consumers alive, of one queue or all, in order of birth within a queue.
-- KEYS[1] prefix
-- ARGV[1] queue name or '', [2] now or ''
-- Result: for each {queue name, consumer, born at, alive until}

local now, found = clock(ARGV[2]), {}
local names = ARGV[1] ~= '' and { ARGV[1] } or call('HKEYS', PREFIX .. 'queues')
for _, name in ipairs(names) do
  local queue = call('HGET', PREFIX .. 'queues', name)
  for _, consumer in ipairs(queue and call('ZRANGE', queue_key(queue, 'births'), 0, -1) or {}) do
    local ends = tonumber(call('ZSCORE', queue_key(queue, 'alive'), consumer))
    if ends > now then
      table.insert(found, { name, consumer, call('HGET', queue_key(queue, 'born'), consumer), text(ends) })
    end
  end
end
return found
