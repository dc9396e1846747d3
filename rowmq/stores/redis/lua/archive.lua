#!lua flags=allow-oom
--! keys queues life erasing
-- Mark finished messages as archived, or delete them.
-- KEYS[1] prefix
-- ARGV[1] '1' to delete them, [2] now or '', then seqs, each once
-- Result: how many were finished

local now, rows = clock(ARGV[2]), {}
for place = 3, #ARGV do
  local row = row_of(ARGV[place])
  if row and row.state then
    table.insert(rows, row)
  end
end
if ARGV[1] == '1' then
  return erase_all(rows, 'archive', now)
end
for _, row in ipairs(rows) do
  write(row, 'filed', '1')
  call('ZADD', queue_key(row.q, 'filed'), row.ended, row.seq)
end
return #rows
