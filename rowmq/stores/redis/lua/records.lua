#!lua flags=no-writes
--! keys queues writing life records
-- Messages by their seqs.
-- KEYS[1] prefix
-- ARGV[1] now or '', then seqs
-- Result: {now; the messages that are stored as shared/records.lua shows them; the result of each, or false}

local now, seqs, found = clock(ARGV[1]), {}, {}
load_rows({ unpack(ARGV, 2) })
for place = 2, #ARGV do
  local row = row_of(ARGV[place])
  if row and row.q then
    table.insert(found, row)
    table.insert(seqs, row.seq)
  end
end
return { text(now), shown(found), values_of('r:', seqs) }
