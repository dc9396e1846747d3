#!lua
--! keys queues writing life pushing
-- Push batches, each whole or not at all.
-- KEYS[1] prefix
-- ARGV[1] now or ''; then for each batch: queue name, number of messages, each message packed
-- Result: for each batch 'missing', or {'duplicate', id}, or {'full', 'waiting longest more'}, or a list with
--         {seq, id, seen before: 0 or 1} for each message.

local now = clock(ARGV[1])

local function answer(entry)
  local one = entry.repeats or entry
  return { one.seq, one.id, (entry.repeats or entry.seen) and 1 or 0 }
end

local function push(name, saids)
  local queue = queue_named(name)
  if not queue then
    return 'missing'
  end
  local entries, why, what = plan(queue, saids, now)
  if not entries then
    return { why, what }
  end
  perform(queue, entries, now)
  local answers = {}
  for place, entry in ipairs(entries) do
    answers[place] = answer(entry)
  end
  return answers
end

local results, place = {}, 2
while place <= #ARGV do
  local name, count, saids = ARGV[place], tonumber(ARGV[place + 1]), {}
  for number = 1, count do
    saids[number] = said_of(ARGV[place + 1 + number])
  end
  table.insert(results, push(name, saids))
  place = place + 2 + count
end
write_all()
wake()
return results
