#!lua flags=no-writes
--! keys seqs queues writing life records
-- One message by its id.
-- KEYS[1] prefix
-- ARGV[1] id, [2] now or ''
-- Result: false, or {now; the message as shared/records.lua shows it; its result, or false}

local seq, now = call('HGET', PREFIX .. 'ids', ARGV[1]), clock(ARGV[2])
local row = seq and row_of(seq)
if not row or not row.q then
  return false
end
return { text(now), shown({ seq }), call('GET', PREFIX .. 'r:' .. seq) }
