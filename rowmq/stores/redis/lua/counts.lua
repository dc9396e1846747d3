#!lua flags=no-writes
--! keys seqs queues counting
-- Count the messages of many queues by state.
-- KEYS[1] prefix
-- ARGV[1] now or '', then names of queues
-- Result: of each queue that exists {name, ready, scheduled, leased, done, dead, the longest that one has been ready,
--         or ''}

local now, found = clock(ARGV[1]), {}
for place = 2, #ARGV do
  local queue = queue_named(ARGV[place])
  if queue then
    table.insert(found, { queue.name, unpack(counted(queue, now)) })
  end
end
return found
