#!lua flags=no-writes
--! keys queues
-- What has happened in every queue in the last minutes, and how far that has been sampled.
-- KEYS[1] prefix
-- ARGV[1] now or ''
-- Result: {now, until when it has been sampled or '', of each queue {name, fields of its counts}}

local now, found = clock(ARGV[1]), {}
local queues = call('HGETALL', PREFIX .. 'queues')
for place = 1, #queues, 2 do
  table.insert(found, { queues[place], call('HGETALL', queue_key(queues[place + 1], 'happened')) })
end
return { text(now), call('GET', PREFIX .. 'sampled') or '', found }
