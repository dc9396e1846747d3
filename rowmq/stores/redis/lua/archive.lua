#!lua flags=allow-oom
--! keys seqs queues writing life erasing
-- Mark finished messages as archived, or delete them.
-- KEYS[1] prefix
-- ARGV[1] '1' to delete them, [2] now or '', [3] only those finished before then or '', then seqs, each once
-- Result: how many were finished

local now, before, found = clock(ARGV[2]), tonumber(ARGV[3]) or math.huge, {}
for place = 4, #ARGV do
  local row = row_of(ARGV[place])
  if row and row.state and row.ended < before then
    table.insert(found, row)
  end
end
if ARGV[1] == '1' then
  erase_all(found, 'archive', now)
end
for _, row in ipairs(ARGV[1] == '1' and {} or found) do
  row.filed = true
  save(row)
  score(queue_key(row.q, 'filed'), row.seq, row.ended)
end
write_all()
return #found
