#!lua flags=allow-oom
--! keys queues life erasing
-- Erase some of what was in a dropped queue, and at the end the queue itself.
-- KEYS[1] prefix
-- ARGV[1] queue id, [2] now or '', [3] how many at most
-- Result: how many were erased

local id, now, limit, rows = ARGV[1], clock(ARGV[2]), tonumber(ARGV[3]), {}
for _, part in ipairs({ 'open', 'done', 'dead' }) do
  for _, seq in ipairs(call('ZRANGE', queue_key(id, part), 0, limit - #rows - 1)) do
    if #rows < limit then
      table.insert(rows, { seq = seq, q = id })
    end
  end
end
erase_all(rows, 'drop', now)
if #rows < limit then
  call('UNLINK', PREFIX .. 'q:' .. id)
  call('SREM', PREFIX .. 'dropped', id)
end
return #rows
