#!lua flags=allow-oom
--! keys seqs queues writing life erasing topics
-- Unbind a queue from a topic; after the last one the topic is as new.
-- KEYS[1] prefix
-- ARGV[1] topic name, [2] queue name, [3] now or ''
-- Result: 1, or 0 if it was not bound

local now, queue = clock(ARGV[3]), call('HGET', PREFIX .. 'queues', ARGV[2])
local unbound = unbind(ARGV[1], queue or '', now)
write_all()
return unbound
