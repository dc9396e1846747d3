#!lua flags=allow-oom
--! keys seqs queues writing life erasing topics
-- Take a queue away, with its bindings, schedules, consumers, dedup keys and claims. What is in it is then
-- erased by erase_dropped.lua, a bounded number at a time.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] now or ''
-- Result: '' if there is none; {name of the queue whose dead letters come here}; else the queue's id

local name, now = ARGV[1], clock(ARGV[2])
local queue = queue_named(name)
if not queue then
  return ''
end
for _, other in ipairs(call('HVALS', PREFIX .. 'queues')) do
  if queue_of(other).dead_letter == queue.id then
    return { queue_of(other).name }
  end
end

for _, topic in ipairs(call('HKEYS', PREFIX .. 'topics')) do
  unbind(topic, queue.id, now)
end
local schedules = call('HGETALL', PREFIX .. 'schedules')
for place = 1, #schedules, 2 do
  if unpacked(schedules[place + 1], 5)[1] == queue.id then
    call('HDEL', PREFIX .. 'schedules', schedules[place])
  end
end
for _, claim in ipairs(call('SMEMBERS', queue_key(queue.id, 'claims'))) do
  call('HDEL', PREFIX .. 'claims', call('HGET', PREFIX .. 'c:' .. claim, 'name'))
  call('ZREM', PREFIX .. 'claims:born', claim)
  call('UNLINK', PREFIX .. 'c:' .. claim, PREFIX .. 'c:' .. claim .. ':seqs')
end
for _, part in ipairs({ 'births', 'born', 'alive', 'keys', 'keys:ends', 'claims', 'happened', 'failed' }) do
  call('UNLINK', queue_key(queue.id, part))
end
for _, span in ipairs({ '60000000', '900000000' }) do
  call('UNLINK', queue_key(queue.id, 'samples:' .. span))
end
write_all()
call('HDEL', PREFIX .. 'queues', name)
call('SADD', PREFIX .. 'dropped', queue.id)
return queue.id
