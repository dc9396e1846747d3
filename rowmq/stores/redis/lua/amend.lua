#!lua flags=allow-oom
--! keys seqs queues writing life erasing
-- Retry, kill, move or drop messages that nobody here holds, oldest first.
-- KEYS[1] prefix
-- ARGV[1] 'retry', 'kill', 'move' or 'drop', [2] name of the queue to move to or '', [3] now or '', then ids
-- Result: false if there is no such queue; else how many changed

local what, now = ARGV[1], clock(ARGV[3])
local target = ARGV[2] ~= '' and queue_named(ARGV[2]) or nil
if ARGV[2] ~= '' and not target then
  return false
end
local seqs, known = {}, {}
for place = 4, #ARGV do
  local seq = call('HGET', PREFIX .. 'ids', ARGV[place])
  if seq and not known[seq] then
    known[seq] = true
    table.insert(seqs, seq)
  end
end
table.sort(seqs)

-- A pending message that is not to move stays what it is, a dead-lettered one for instance.
local function again(row)
  if row.at and not target then
    put_back(row, now, 0)
  else
    restart(row, target or queue_of(row.q), now)
  end
end

local function amend(row)
  if what == 'kill' and row.at then
    bury(row, 'killed', now)
    return 1
  end
  if what ~= 'kill' and (row.at or row.state == 'dead') then
    again(row)
    return 1
  end
  return 0
end

local chosen, count = {}, 0
for _, seq in ipairs(seqs) do
  local row = row_of(seq)
  if row.q and what == 'drop' then
    table.insert(chosen, row)
  elseif row.q then
    count = count + amend(row)
  end
end
count = count + erase_all(chosen, 'amend', now)
write_all()
wake()
return count
