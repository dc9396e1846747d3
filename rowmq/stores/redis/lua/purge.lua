#!lua flags=allow-oom
--! keys seqs queues writing life erasing
-- Delete messages of a queue that are in some states, looking at a bounded number of them.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] now or '', [3] 'open', 'done' or 'dead', [4] pushed before or '', [5] after which seq,
--         [6] how many to look at, then the states
-- Result: false if there is no such queue; else {how many were deleted, the last seq looked at or ''}

local queue, now, before = queue_named(ARGV[1]), clock(ARGV[2]), tonumber(ARGV[4])
if not queue then
  return false
end
local states = {}
for place = 7, #ARGV do
  states[ARGV[place]] = true
end

local chosen = {}
local seqs = seqs_behind(queue.id, ARGV[3], ARGV[5], 2 ^ 53, ARGV[6])
for _, seq in ipairs(seqs) do
  local row = row_of(seq)
  if states[state_of(row, now)] and (not before or tonumber(row.born) < before) then
    table.insert(chosen, row)
  end
end
erase_all(chosen, 'purge', now)
write_all()
wake()
return { #chosen, #seqs == tonumber(ARGV[6]) and seqs[#seqs] or '' }
