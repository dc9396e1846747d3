#!lua flags=no-writes
--! keys queues life records
-- One message by its id.
-- KEYS[1] prefix
-- ARGV[1] id, [2] now or ''
-- Result: false, or {record, packed; the holder's token or ''}

local seq, now = call('HGET', PREFIX .. 'ids', ARGV[1]), clock(ARGV[2])
local row = seq and row_of(seq)
local found = row and record(row, now)
if not found then
  return false
end
return { found, state_of(row, now) == 'leased' and row.tok or '' }
