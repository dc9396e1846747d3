#!lua flags=no-writes
--! keys seqs
-- The lowest and the highest seq stored.
-- KEYS[1] prefix
-- Result: {lowest, highest}, both 0 if there is none

local lowest, highest = nil, nil

local function look(first, last)
  if first then
    lowest = (not lowest or first < lowest) and first or lowest
    highest = (not highest or last > highest) and last or highest
  end
end

for _, queue in ipairs(call('HVALS', PREFIX .. 'queues')) do
  for _, part in ipairs({ 'open', 'done', 'dead' }) do
    look(ends_of(queue, part))
  end
end
for _, topic in ipairs(call('HVALS', PREFIX .. 'topics')) do
  local kept = PREFIX .. 't:' .. topic .. ':kept'
  look(call('ZRANGE', kept, 0, 0)[1], call('ZRANGE', kept, -1, -1)[1])
end
return { lowest or '0', highest or '0' }
