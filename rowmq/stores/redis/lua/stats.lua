#!lua flags=no-writes
--! keys seqs queues counting
-- Count a queue's messages by state.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] now or ''
-- Result: false if there is no such queue; else {ready, scheduled, leased, done, dead, the longest that one has
--         been ready, or ''}

local queue, now = queue_named(ARGV[1]), clock(ARGV[2])
if not queue then
  return false
end
return counted(queue, now)
