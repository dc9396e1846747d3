#!lua
--! keys seqs queues writing life
-- Give dead and dead-lettered messages of a queue another life, oldest first, a bounded number at a time.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] name of the queue to go to or '', [3] now or '', [4] after which seq,
--         [5] how many at most
-- Result: {'missing', queue name}, or {how many, the last seq looked at, or '' at the end}

local queue, now, limit = queue_named(ARGV[1]), clock(ARGV[3]), tonumber(ARGV[5])
local target = ARGV[2] ~= '' and queue_named(ARGV[2]) or nil
if not queue or (ARGV[2] ~= '' and not target) then
  return { 'missing', queue and ARGV[2] or ARGV[1] }
end

local seqs = seqs_behind(queue.id, 'dead', ARGV[4], 2 ^ 53, limit)
for _, seq in ipairs(call('ZRANGE', queue_key(queue.id, 'lettered'), '(' .. ARGV[4], '+inf', 'BYSCORE', 'LIMIT', 0, limit)) do
  table.insert(seqs, seq)
end
table.sort(seqs)

-- Dead ones go back to this queue, dead-lettered ones to where they came from.
local function goal(row)
  if row.state then
    return target or queue
  end
  return state_of(row, now) ~= 'leased' and (target or queue_named(row.src)) or nil
end

local count, looked = 0, math.min(#seqs, limit)
for place = 1, looked do
  local row = row_of(seqs[place])
  local to = goal(row)
  if to then
    restart(row, to, now)
    count = count + 1
  end
end
write_all()
wake()
return { count, looked == limit and seqs[looked] or '' }
