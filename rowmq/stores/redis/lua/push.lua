#!lua
--! keys seqs queues writing life pushing
-- Push batches, each whole or not at all.
-- KEYS[1] prefix
-- ARGV[1] now or ''; then for each batch: queue name, number of messages, each message packed
-- Result: for each batch 'missing', or {'duplicate', id}, or {'full', 'waiting longest more'}, or {seqs, '0' or '1'
--         for seen before, ids}, each of the three one text for all messages; no ids if they are the given ones.

local now = clock(ARGV[1])

local function answer(entries, saids)
  local seqs, seen, ids, own = {}, {}, {}, true
  for place, entry in ipairs(entries) do
    local one = entry.repeats or entry
    seqs[place], ids[place] = one.seq, one.id
    seen[place] = (entry.repeats or entry.seen) and '1' or '0'
    own = own and one.id == saids[place].id
  end
  return { table.concat(seqs), table.concat(seen), own and '' or table.concat(ids) }
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
  return answer(entries, saids)
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
