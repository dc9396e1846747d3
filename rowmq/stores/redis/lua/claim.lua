#!lua flags=allow-oom
--! keys seqs queues writing rules life kinds claiming records
-- Lease messages of one queue to each want, first wants first, and bury what is found overdue on the way.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] now or ''; then for each want 16: limit, lease or '', consumer or '', sharer or '',
--         where (JSON), max_age or '', per_group, behind, name or '', again (1 or 0), upto or '', since or '',
--         until or '', token, and where to go on: a priority and a place
-- Result: false if there is no such queue; else for each want {messages as shared/records.lua shows them; priority
--         and place where a bounded search stopped, or nothing; 1 if it stopped before it knew there is nothing;
--         '' or, if the messages are shown without what they say, how many bytes that is in each}

local WANT = 16
local LONG, MUCH = 1000, 32768 -- so many bytes of long messages are read without a script, which copies them often
local queue = queue_named(ARGV[1])
if not queue then
  return false
end
local now = clock(ARGV[2])

local function want_at(start)
  local given = {}
  for place = 1, WANT do
    given[place] = ARGV[start + place - 1]
  end
  return {
    limit = tonumber(given[1]), lease = tonumber(given[2]), consumer = given[3] ~= '' and given[3] or nil,
    sharer = given[4] ~= '' and given[4] or nil, where = cjson.decode(given[5]), max_age = tonumber(given[6]),
    per_group = tonumber(given[7]), behind = tonumber(given[8]), name = given[9] ~= '' and given[9] or nil,
    again = given[10] == '1', upto = tonumber(given[11]), since = tonumber(given[12]),
    before = tonumber(given[13]), token = given[14], from = { tonumber(given[15]), tonumber(given[16]) },
    conditional = given[5] ~= '[]' or given[6] ~= '' or given[11] ~= '' or given[12] ~= '' or given[13] ~= '',
  }
end

-- What is left of the claim that has this name; nil if none has.
local function left_of(name)
  local claim = call('HGET', PREFIX .. 'claims', name)
  if not claim then
    return nil
  end
  local token, left = call('HGET', PREFIX .. 'c:' .. claim, 'tok'), {}
  for _, seq in ipairs(call('LRANGE', PREFIX .. 'c:' .. claim .. ':seqs', 0, -1)) do
    local row = pending(seq)
    if row and row.tok == token then
      table.insert(left, seq)
    end
  end
  return { shown(left), {}, 0, '' }
end

local function keep_claim(want, leased)
  local claim = text(call('INCR', PREFIX .. 'last_cid'))
  call('HSET', PREFIX .. 'claims', want.name, claim)
  call('ZADD', PREFIX .. 'claims:born', now, claim)
  call('SADD', queue_key(queue.id, 'claims'), claim)
  call('HSET', PREFIX .. 'c:' .. claim, 'name', want.name, 'q', queue.id, 'tok', want.token, 'runs', 1)
  send('RPUSH', leased, PREFIX .. 'c:' .. claim .. ':seqs')
end

local function none_said(seqs)
  local none = {}
  for place = 1, #seqs do
    none[place] = ''
  end
  return none
end

-- The bytes in each of these messages, if by the first of them they are long and many; '' if they are not.
local function lengths_if_long(seqs)
  local first = seqs[1] and call('STRLEN', PREFIX .. 'm:' .. seqs[1]) or 0
  if first < LONG or first * #seqs < MUCH then
    return ''
  end
  local lengths = {}
  for place = 1, #seqs do
    lengths[place] = call('STRLEN', PREFIX .. 'm:' .. seqs[place])
  end
  return table.concat(lengths, ' ')
end

local function serve(want)
  local known = want.name and left_of(want.name)
  if known then
    return known
  end
  local search = search_for(queue, want, now)
  local leased = search.leased
  spend(queue, #leased, now)
  if want.name and (#leased > 0 or not want.again) then
    keep_claim(want, leased)
  end
  local lengths = lengths_if_long(leased)
  local said_by = lengths ~= '' and none_said or nil
  return { shown(leased, said_by, queue.id), search.stopped or {}, search.more and 1 or 0, lengths }
end

local results = {}
for start = 3, #ARGV, WANT do
  table.insert(results, queue.paused == '1' and { shown({}), {}, 0, '' } or serve(want_at(start)))
end
write_all()
wake()
return results
