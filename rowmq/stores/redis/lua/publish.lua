#!lua
--! keys seqs queues writing life erasing pushing topics
-- Push a copy of each message to every queue bound to a topic, all or nothing; with none bound, keep them.
-- KEYS[1] prefix
-- ARGV[1] topic name, [2] now or '', then each message packed
-- Result: {'duplicate', id} or {'full', ..., name of the queue}, or how many queues are bound

local name, now = ARGV[1], clock(ARGV[2])
local topic = topic_named(name)
local saids = {}
for place = 3, #ARGV do
  saids[place - 2] = said_of(ARGV[place])
end

local bound = {}
for _, id in ipairs(call('SMEMBERS', topic_key(topic, 'queues'))) do
  table.insert(bound, queue_of(id))
end
table.sort(bound, function(one, other)
  return one.name < other.name
end)

local function keep()
  local hidden = { id = 't' .. topic, name = name }
  local entries, why, what = plan(hidden, saids, now, true)
  if not entries then
    return { why, what }
  end
  for _, entry in ipairs(entries) do
    if entry.said and not entry.seq then
      local row = store(entry.said, hidden.id, 0, now)
      entry.seq = row.seq
      score(topic_key(topic, 'kept'), row.seq, tonumber(row.seq))
    end
  end
  write_all()
  return 0
end

if #bound == 0 then
  return keep()
end
local plans = {}
for place, queue in ipairs(bound) do
  local entries, why, what = plan(queue, copies(saids, queue.name), now)
  if not entries then
    return { why, what, queue.name }
  end
  plans[place] = entries
end
for place, queue in ipairs(bound) do
  perform(queue, plans[place], now)
end
write_all()
wake()
return #bound
