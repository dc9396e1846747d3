#!lua
--! keys seqs queues writing life erasing pushing topics
-- Bind a queue to a topic, and give it what was kept.
-- KEYS[1] prefix
-- ARGV[1] topic name, [2] queue name, [3] now or '', [4] dedup window of kept messages
-- Result: 'missing' (the queue), {'duplicate', id} or {'full', ...} as push.lua, 0 if it was bound, 1

local name, now = ARGV[1], clock(ARGV[3])
local queue = queue_named(ARGV[2])
if not queue then
  return 'missing'
end
local topic = topic_named(name)
forget_late(name, topic, now)
write_all()
if call('SISMEMBER', topic_key(topic, 'queues'), queue.id) == 1 then
  return 0
end

-- The kept message as it was published, its delay counted from then.
local function said_by(row)
  local texts = unpacked(body_of(row.seq), SAID)
  texts[8], texts[9], texts[10] = ARGV[4], row.sched and text(row.sched) or '', ''
  return said_of(packed(texts))
end

local saids = {}
for place, seq in ipairs(call('ZRANGE', topic_key(topic, 'kept'), 0, -1)) do
  saids[place] = said_by(row_of(seq))
end
local entries, why, what = plan(queue, copies(saids, queue.name), now)
if not entries then
  return { why, what }
end
perform(queue, entries, now)
if call('SCARD', topic_key(topic, 'queues')) == 0 then
  call('SET', topic_key(topic, 'first_bound_at'), now)
end
call('SADD', topic_key(topic, 'queues'), queue.id)
write_all()
wake()
return 1
