#!lua flags=no-writes
--! keys failures
-- Which of some messages have a later failure with a text in a queue.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] the text, then for each message: seq, and the place of a failure among its
-- Result: their seqs

local found, sought = {}, string.lower(ARGV[2])

local function has_later(seq, index)
  for place = call('LLEN', PREFIX .. 'f:' .. seq) - 1, index + 1, -1 do
    if matches(call('LINDEX', PREFIX .. 'f:' .. seq, place), ARGV[1], sought) then
      return true
    end
  end
  return false
end

for place = 3, #ARGV, 2 do
  if has_later(ARGV[place], tonumber(ARGV[place + 1])) then
    table.insert(found, ARGV[place])
  end
end
return found
