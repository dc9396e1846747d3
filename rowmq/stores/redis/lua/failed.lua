#!lua flags=no-writes
--! keys queues
-- The next failures of a queue, newest first, and whether a text is in their errors.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] the number before which to look, [3] how many to look at, [4] the text
-- Result: false if there is no such queue; else for each failure {number, seq, 1 if it is the newest of its message's
--         failures here that have the text}

local queue, sought = queue_named(ARGV[1]), string.lower(ARGV[4])
if not queue then
  return false
end

local function matches(blob)
  local values = unpacked(blob, 6)
  return values[2] == queue.name and string.find(string.lower(values[6]), sought, 1, true)
end

-- Of the failures of a message from one on, whether that one matches and no later one does.
local function is_newest(failures)
  for place = #failures, 2, -1 do
    if matches(failures[place]) then
      return false
    end
  end
  return failures[1] and matches(failures[1])
end

local key, found = queue_key(queue.id, 'failed'), {}
local some = call('ZRANGE', key, '(' .. ARGV[2], '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
for place = 1, #some, 2 do
  local seq, index = string.match(some[place], '^(%d+) (%d+)$')
  local failures = call('LRANGE', PREFIX .. 'f:' .. seq, index, -1)
  table.insert(found, { text(tonumber(some[place + 1])), seq, is_newest(failures) and 1 or 0 })
end
return found
