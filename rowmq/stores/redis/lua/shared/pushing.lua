-- Pushing a batch: first find out what it would do or why it is refused, then do it.

-- A message as its sender says it; '' where it says nothing.
local function said_of(blob)
  local values = unpacked(blob, SAID)
  return {
    blob = blob, id = values[1], body = values[2], bin = values[3], meta = values[4], pri = tonumber(values[5]), grp = values[6],
    key = values[7], window = tonumber(values[8]), at = tonumber(values[9]), delay = tonumber(values[10]),
    deadline = tonumber(values[11]),
  }
end

local function holds_all(some, others)
  for key, value in pairs(others) do
    if some[key] ~= value then
      return false
    end
  end
  return true
end

local function same_metadata(one, other)
  if one == other then
    return true
  end
  if one == '' or other == '' then
    return false
  end
  one, other = cjson.decode(one), cjson.decode(other)
  return holds_all(one, other) and holds_all(other, one)
end

local function alike(one, other)
  return one.body == other.body and one.bin == other.bin and same_metadata(one.meta, other.meta)
end

-- Whether a stored message is this one; a body that was dropped is taken on trust.
local function stored_alike(seq, of, said)
  local row = row_of(seq)
  if row.of ~= of then
    return false
  end
  local values = unpacked(body_of(seq), SAID)
  return alike({ body = row.gone and said.body or values[2], bin = values[3], meta = values[4] }, said)
end

-- The stored message that has this one's id or dedup key, if any.
local function find_earlier(entry, seq, queue, now)
  local said = entry.said
  entry.id, entry.seq = said.id, seq or nil
  if entry.seq then
    return stored_alike(entry.seq, queue.id, said)
  end
  local known = said.key ~= '' and call('HGET', queue_key(queue.id, 'keys'), said.key)
  if known then
    local values = unpacked(known, 3)
    if tonumber(values[1]) > now then
      entry.seq, entry.id = values[2], values[3]
    end
  end
  return true
end

-- The entry of a message of this batch that this one is, by its dedup key or its id; false if they are not alike.
local function repeated(said, by_key, by_id)
  local known = said.key ~= '' and by_key[said.key]
  if known then
    return known
  end
  known = by_id[said.id]
  return known and (alike(known.said, said) and known)
end

-- What pushing these means: an entry for each. Or nil, and why it is refused, and of what.
-- Where messages are only kept, their dedup keys do not count.
local function plan(queue, saids, now, keeping)
  local entries, by_key, by_id, fresh, given = {}, {}, {}, 0, {}
  for place, said in ipairs(saids) do
    given[place] = said.id
  end
  local stored = seqs_of(given)
  for place, said in ipairs(saids) do
    local entry = repeated(said, keeping and {} or by_key, by_id)
    if entry then
      entries[place] = { repeats = entry }
    else
      entry = { said = said }
      if by_id[said.id] or not find_earlier(entry, stored[place], queue, now) then
        return nil, 'duplicate', said.id
      end
      entry.seen = entry.seq and true or false
      fresh = fresh + (entry.seen and 0 or 1)
      by_id[said.id], entries[place] = entry, entry
    end
    by_key[said.key] = entry
  end
  if queue.max_length and fresh > 0 then
    local waiting = count_of(queue.id, 'open')
    if waiting + fresh > queue.max_length then
      return nil, 'full', string.format('%d %d %d', waiting, queue.max_length, fresh)
    end
  end
  return entries
end

-- Write down what was said; the delay is that of messages that say nothing about their time.
local function store(said, of, delay, now)
  local row = {
    seq = padded(call('INCR', PREFIX .. 'last_seq')), id = said.id, of = of, pri = said.pri, born = now, tries = 0,
    gets = 0, grp = said.grp ~= '' and said.grp or nil, sched = said.at, deadline = said.deadline,
  }
  if not said.at and (said.delay or delay > 0) then
    row.sched = now + (said.delay or delay)
  end
  rows[row.seq], bodies[row.seq], ids[said.id] = row, said.blob, row.seq
  save(row)
  return row
end

local function remember(queue, said, seq, now)
  local ends = now + said.window
  call('HSET', queue_key(queue.id, 'keys'), said.key, packed({ text(ends), seq, said.id }))
  call('ZADD', queue_key(queue.id, 'keys:ends'), ends, said.key)
end

-- Push what is new in the plan.
local function perform(queue, entries, now)
  for _, entry in ipairs(entries) do
    if entry.said and not entry.seq then
      local row = store(entry.said, queue.id, queue.delay, now)
      entry.seq = row.seq
      if entry.said.key ~= '' then
        remember(queue, entry.said, row.seq, now)
      end
      start(row, queue, math.max(row.sched or now, now), 0)
      happen(queue.id, 'pushed')
    end
  end
end

-- The id of a message's copy for a name: a version 5 UUID, as rowmq/core/message.py derives it.
local function derived_id(id, name)
  local bytes = {}
  for pair in string.gmatch(string.sub(redis.sha1hex(id .. name), 1, 32), '%x%x') do
    table.insert(bytes, tonumber(pair, 16))
  end
  bytes[7] = bytes[7] % 16 + 80
  bytes[9] = bytes[9] % 64 + 128
  return string.char(unpack(bytes))
end

local ID_AT = 4 * SAID

-- The same messages, with the ids of their copies for a name.
local function copies(saids, name)
  local made = {}
  for place, said in ipairs(saids) do
    local copy = {}
    for field, value in pairs(said) do
      copy[field] = value
    end
    copy.id = derived_id(said.id, name)
    copy.blob = string.sub(said.blob, 1, ID_AT) .. copy.id .. string.sub(said.blob, ID_AT + 17)
    made[place] = copy
  end
  return made
end
