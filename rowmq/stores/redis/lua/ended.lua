#!lua flags=no-writes
--! keys seqs queues writing
-- The times of messages that ended in a period, newest first.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] beginning, [3] end, [4] how many to skip, [5] how many
-- Result: of each, pushed at, scheduled for or '', claimed at or '', ended at

local queue, found = queue_named(ARGV[1]), {}
if not queue then
  return found
end
local key = queue_key(queue.id, 'ended')
local seqs = call('ZRANGE', key, '(' .. ARGV[3], ARGV[2], 'BYSCORE', 'REV', 'LIMIT', ARGV[4], ARGV[5])
load_rows(seqs)
for place, seq in ipairs(seqs) do
  local row = row_of(seq)
  found[place] = { text(row.born), row.sched and text(row.sched) or '', row.since and text(row.since) or '', text(row.ended) }
end
return found
