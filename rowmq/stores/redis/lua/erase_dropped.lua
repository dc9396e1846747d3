#!lua flags=allow-oom
--! keys seqs queues writing life erasing
-- Erase some of what was in a dropped queue, and at the end the queue itself.
-- KEYS[1] prefix
-- ARGV[1] queue id, [2] now or '', [3] how many at most
-- Result: how many were erased

local id, now, limit, found = ARGV[1], clock(ARGV[2]), tonumber(ARGV[3]), {}
for _, part in ipairs({ 'open', 'done', 'dead' }) do
  local room = limit - #found
  for _, seq in ipairs(room > 0 and seqs_behind(id, part, -1, 2 ^ 53, room) or {}) do
    table.insert(found, { seq = seq, q = id })
  end
end
erase_all(found, 'drop', now)
write_all()
if #found < limit then
  call('UNLINK', PREFIX .. 'q:' .. id, queue_key(id, 'counts'))
  call('SREM', PREFIX .. 'dropped', id)
end
return #found
