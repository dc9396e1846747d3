#!lua flags=allow-oom
--! keys seqs queues writing life erasing
-- Prune what is past retention in one queue, and forget its dedup keys and consumers whose time is over.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] now or '', [3] how many to prune, [4] how many to forget, [5] how long ids are kept
-- Result: {pruned, forgotten}

local queue, now = queue_named(ARGV[1]), clock(ARGV[2])
if not queue then
  return { 0, 0 }
end

local function prune(limit)
  if not queue.retention then
    return 0
  end
  local kept = queue.retention == 0 and tonumber(ARGV[5]) or queue.retention
  local part = queue_key(queue.id, queue.archive == '1' and 'filed' or 'ended')
  local past = {}
  for place, seq in ipairs(call('ZRANGE', part, '-inf', now - kept, 'BYSCORE', 'LIMIT', 0, limit)) do
    past[place] = { seq = seq, q = queue.id }
  end
  return erase_all(past, 'retention', now)
end

local function forget_keys(limit)
  local ends = queue_key(queue.id, 'keys:ends')
  local keys = call('ZRANGE', ends, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, key in ipairs(keys) do
    call('ZREM', ends, key)
    call('HDEL', queue_key(queue.id, 'keys'), key)
  end
  return #keys
end

local function forget_consumers(limit)
  local alive = queue_key(queue.id, 'alive')
  local dead = call('ZRANGE', alive, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, name in ipairs(dead) do
    call('ZREM', alive, name)
    call('ZREM', queue_key(queue.id, 'births'), name)
    call('HDEL', queue_key(queue.id, 'born'), name)
  end
  return #dead
end

local pruned, room = prune(tonumber(ARGV[3])), tonumber(ARGV[4])
local forgotten = forget_keys(room)
write_all()
return { pruned, forgotten + forget_consumers(room - forgotten) }
