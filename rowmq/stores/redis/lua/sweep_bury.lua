#!lua flags=allow-oom
--! keys seqs queues writing rules life
-- Bury what is expired, lost or exhausted in one queue. Only what is expired need not wait for its time, and
-- what somebody holds is left alone.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] now or '', [3] how many at most, [4] how many to look at, [5] how many to pass by
--         because an earlier call has looked at them
-- Result: {how many were buried, how many to pass by next, or 0 at the end}

local LOOK, SKIP = tonumber(ARGV[4]), tonumber(ARGV[5])
local queue, now, limit = queue_named(ARGV[1]), clock(ARGV[2]), tonumber(ARGV[3])
if not queue then
  return { 0, 0 }
end

local seen, doomed, full = {}, {}, false

local function consider(seq)
  local row = not seen[seq] and #doomed < limit and row_of(seq)
  seen[seq] = true
  if row and state_of(row, now) ~= 'leased' then
    local why = overdue(row, row.tok, queue, now)
    if why and (why == 'expired' or (not row.parked and row.at <= now)) then
      table.insert(doomed, { row, why })
    end
  end
  return row
end

-- Those whose attempts may have run out, or whose only holder has vanished.
local function consider_tried(part)
  if not queue.max_attempts and queue.final ~= '1' then
    return
  end
  local seqs = call('ZRANGE', queue_key(queue.id, part), '-inf', now, 'BYSCORE', 'LIMIT', SKIP, LOOK)
  for _, seq in ipairs(seqs) do
    consider(seq)
  end
  full = full or #seqs == LOOK
end

-- Those that are too old: seqs are in the order of birth, so the first young one ends it.
local function consider_old()
  local after = -1
  while queue.max_age and #doomed < limit do
    local seqs = seqs_behind(queue.id, 'open', after, 2 ^ 53, 1000)
    for _, seq in ipairs(seqs) do
      local row = consider(seq) or row_of(seq)
      if row.born + queue.max_age > now then
        return
      end
    end
    if #seqs == 0 then
      return
    end
    after = seqs[#seqs]
  end
end

if queue.final == '1' then
  for _, seq in ipairs(call('ZRANGE', queue_key(queue.id, 'deadlines'), '-inf', now, 'BYSCORE')) do
    consider(seq)
  end
end
consider_old()
consider_tried('held')
consider_tried('retried')

for _, each in ipairs(doomed) do -- before any burial: the next of a group gets a new time when its head goes
  fail_if_vanished(each[1])
end
for _, each in ipairs(doomed) do
  bury(pending(each[1].seq), each[2], now)
end
write_all()
wake()
return { #doomed, full and #doomed < limit and SKIP + LOOK - #doomed or 0 }
