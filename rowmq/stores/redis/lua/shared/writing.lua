-- Rows and sorted sets, read once and written behind: what a script changes is gathered and written at its end,
-- many at a time. Whoever reads goes through here too, and finds what was changed.

local PIECE = 1000
local NONE = 1e300 -- a time that is not there; any other number may be one
local ROW = '>ddddddI4I4BBBB' .. string.rep('I2', 11)
local MINUTE, SLOTS = 60000000, 20
local scores, rows, changed, bodies, ids, gone, happened = {}, {}, {}, {}, {}, {}, {}
local rewritten = {} -- keys and values of rows that were changed as they are kept, without being unpacked

-- A command with any number of arguments, an even number at a time, behind a key if there is one.
local function send(command, given, key)
  for first = 1, #given, PIECE do
    local last = math.min(first + PIECE - 1, #given)
    if key then
      call(command, key, unpack(given, first, last))
    else
      call(command, unpack(given, first, last))
    end
  end
end

-- The values of many keys of one kind, false where there is none.
local function values_of(kind, names)
  local found = {}
  for first = 1, #names, PIECE do
    local keys = {}
    for place = first, math.min(first + PIECE - 1, #names) do
      keys[place - first + 1] = PREFIX .. kind .. names[place]
    end
    for place, value in ipairs(call('MGET', unpack(keys))) do
      found[first + place - 1] = value
    end
  end
  return found
end

-- The score of a member of a sorted set; false takes it out.
local function score(key, member, value)
  local some = scores[key]
  if not some then
    some = {}
    scores[key] = some
  end
  some[member] = value
end

local function write_scores(key)
  local adding, removing = {}, {}
  for member, value in pairs(scores[key]) do
    if value then
      adding[#adding + 1] = text(value)
      adding[#adding + 1] = member
    else
      removing[#removing + 1] = member
    end
  end
  scores[key] = nil
  send('ZADD', adding, key)
  send('ZREM', removing, key)
end

-- Give many members of a sorted set one score at once, or each its own seq if there is none; false takes them out.
local function score_all(key, members, value)
  if scores[key] then
    write_scores(key)
  end
  if value == false then
    return send('ZREM', members, key)
  end
  local given, same = {}, value and text(value)
  for place = 1, #members do
    local member = members[place]
    given[2 * place - 1], given[2 * place] = same or member, member
  end
  send('ZADD', given, key)
end

-- Ask a sorted set something.
local function zset(command, key, ...)
  if scores[key] then
    write_scores(key)
  end
  return call(command, key, ...)
end

local function flag(value)
  return value and 1 or 0
end

-- A row as it is kept: numbers, the lengths of its texts, its texts.
local function packed_row(row)
  if row.packed then
    return row.packed
  end
  local id, of, q, tok, by, src = row.id, row.of, row.q or '', row.tok or '', row.by or '', row.src or ''
  local grp, why, gid, group, state = row.grp or '', row.why or '', row.gid or '', row.group or '', row.state or ''
  row.packed = struct.pack(
    ROW, row.born, row.sched or NONE, row.deadline or NONE, row.at or NONE, row.since or NONE, row.ended or NONE,
    row.tries, row.gets, row.pri, flag(row.parked), flag(row.filed), flag(row.gone),
    #id, #of, #grp, #q, #tok, #by, #src, #why, #gid, #group, #state
  ) .. id .. of .. grp .. q .. tok .. by .. src .. why .. gid .. group .. state
  return row.packed
end

local TIMES = { 'born', 'sched', 'deadline', 'at', 'since', 'ended' }
local TEXTS = { 'id', 'of', 'grp', 'q', 'tok', 'by', 'src', 'why', 'gid', 'group', 'state' }

local function unpacked_row(seq, blob)
  local values = { struct.unpack(ROW, blob) }
  local row = { seq = seq, packed = blob, tries = values[7], gets = values[8], pri = values[9] }
  row.parked, row.filed, row.gone = values[10] == 1, values[11] == 1, values[12] == 1
  for place, name in ipairs(TIMES) do
    if values[place] ~= NONE then
      row[name] = values[place]
    end
  end
  local start = values[24]
  for place, name in ipairs(TEXTS) do
    local length = values[12 + place]
    if length > 0 then
      row[name] = string.sub(blob, start, start + length - 1)
      start = start + length
    end
  end
  row.group = row.gid and (row.group or '') -- the one of a fifo queue has no name
  return row
end

-- Read many rows at once. Each is unpacked when it is asked for.
local function load_rows(seqs)
  local missing = {}
  for _, seq in ipairs(seqs) do
    if rows[seq] == nil then
      missing[#missing + 1] = seq
    end
  end
  for place, blob in ipairs(values_of('l:', missing)) do
    rows[missing[place]] = blob
  end
end

-- The row of a stored message, or nil; the same one whenever it is asked for. It is pending if it has `at`,
-- finished if it has `state`, and else kept for a topic's first queue.
local function row_of(seq)
  local row = rows[seq]
  if row == nil then
    row = call('GET', PREFIX .. 'l:' .. seq)
  end
  if type(row) == 'string' then
    row = unpacked_row(seq, row)
  end
  rows[seq] = row
  return row or nil
end

-- The row of a message as it is kept, or will be.
local function kept_row(seq)
  local row = rows[seq]
  return type(row) == 'string' and row or packed_row(row_of(seq))
end

-- Have a row written that is not unpacked.
local function rewrite(seq, blob)
  rows[seq] = blob
  rewritten[#rewritten + 1] = PREFIX .. 'l:' .. seq
  rewritten[#rewritten + 1] = blob
end

-- Have a row written that is changed, now or by what follows at once.
local function save(row)
  changed[row.seq], row.packed = row, nil
end

-- What was said in a message.
local function body_of(seq)
  return bodies[seq] or call('GET', PREFIX .. 'm:' .. seq)
end

local function write_ids()
  local setting, clearing = {}, {}
  for id, seq in pairs(ids) do
    if seq then
      setting[#setting + 1] = id
      setting[#setting + 1] = seq
    else
      clearing[#clearing + 1] = id
    end
  end
  ids = {}
  send('HSET', setting, PREFIX .. 'ids')
  send('HDEL', clearing, PREFIX .. 'ids')
end

-- The seq of each of these ids, or false.
local function seqs_of(some)
  write_ids()
  local found = {}
  for first = 1, #some, PIECE do
    local last = math.min(first + PIECE - 1, #some)
    for place, seq in ipairs(call('HMGET', PREFIX .. 'ids', unpack(some, first, last))) do
      found[first + place - 1] = seq
    end
  end
  return found
end

-- Take a message away with all that belongs to it.
local function unwrite(row)
  rows[row.seq], changed[row.seq], bodies[row.seq], ids[row.id] = false, nil, nil, false
  for _, kind in ipairs({ 'm:', 'l:', 'f:', 'r:' }) do
    gone[#gone + 1] = PREFIX .. kind .. row.seq
  end
end

-- Count something that happens in a queue, for its samples; once, or so often.
local function happen(queue, what, count)
  local some = happened[queue]
  if not some then
    some = {}
    happened[queue] = some
  end
  some[what] = (some[what] or 0) + (count or 1)
end

-- Each kind has one field for every so many minutes, which says what minute it is of and how many.
local function write_happened()
  local minute = math.floor(present / MINUTE)
  for queue, some in pairs(happened) do
    local key = queue_key(queue, 'happened')
    for what, count in pairs(some) do
      local field = text(minute % SLOTS) .. ' ' .. what
      local of, before = string.match(call('HGET', key, field) or '', '^(%S+) (%S+)$')
      before = of == text(minute) and tonumber(before) or 0
      call('HSET', key, field, text(minute) .. ' ' .. text(before + count))
    end
  end
  happened = {}
end

local function write_all()
  for key in pairs(scores) do
    write_scores(key)
  end
  write_marks()
  local setting = rewritten -- first: a row that is unpacked later is written later
  for seq, row in pairs(changed) do
    setting[#setting + 1] = PREFIX .. 'l:' .. seq
    setting[#setting + 1] = packed_row(row)
  end
  for seq, body in pairs(bodies) do
    setting[#setting + 1] = PREFIX .. 'm:' .. seq
    setting[#setting + 1] = body
  end
  send('MSET', setting)
  send('UNLINK', gone)
  write_ids()
  write_happened()
  changed, bodies, gone, rewritten = {}, {}, {}, {}
end
