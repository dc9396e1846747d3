#!lua flags=no-writes
--! keys queues failures
-- The next failures of a queue, newest first, and whether a text is in their errors.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] the number before which to look, [3] how many to look at, [4] the text
-- Result: false if there is no such queue; else for each failure {number, seq, its place among its message's, 1 if it is
--         the first of these of its message that has the text}

local queue, sought = queue_named(ARGV[1]), string.lower(ARGV[4])
if not queue then
  return false
end

local found, seen = {}, {}

local function is_first(seq, index)
  local blob = not seen[seq] and call('LINDEX', PREFIX .. 'f:' .. seq, index)
  local found_now = blob and matches(blob, queue.name, sought)
  seen[seq] = seen[seq] or found_now
  return found_now
end

local key = queue_key(queue.id, 'failed')
local some = call('ZRANGE', key, '(' .. ARGV[2], '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
for place = 1, #some, 2 do
  local seq, index = string.match(some[place], '^(%d+) (%d+)$')
  table.insert(found, { text(tonumber(some[place + 1])), seq, index, is_first(seq, index) and 1 or 0 })
end
return found
