#!lua flags=no-writes
--! keys seqs queues writing life
-- The next messages of a list, which is made of lines: sorted sets of a queue, one behind the other.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] now or '', [3] 'newest' or 'oldest' first, [4] the line to begin in, [5] the time and [6] the
--         seq behind which to begin there, [7] the time and [8] the seq behind which to begin in all others, [9] the
--         last time to look at, or '', [10] how many to look at, [11] 1 to tell metadata, then the lines
-- Result: false if there is no such queue; else {now, for each message: number of its line, its time there, seq,
--         state, when it was pushed, its metadata}

local queue, now = queue_named(ARGV[1]), clock(ARGV[2])
if not queue then
  return false
end
local newest, last, room = ARGV[3] == 'newest', tonumber(ARGV[9]), tonumber(ARGV[10])
local LINES = 11

-- How many of a line come before those behind a place; members of one score are sorted by seq.
local function passed(key, time, seq)
  local before = newest and call('ZCOUNT', key, '(' .. time, '+inf') or call('ZCOUNT', key, '-inf', '(' .. time)
  local low, high = 0, call('ZCOUNT', key, time, time)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local rank = before + middle
    local member = newest and call('ZRANGE', key, rank, rank, 'REV')[1] or call('ZRANGE', key, rank, rank)[1]
    if newest and member >= seq or not newest and member <= seq then
      low = middle + 1
    else
      high = middle
    end
  end
  return before + low
end

local function beyond(time)
  return last and (newest and time < last or not newest and time > last)
end

local seqs, places = {}, {}

local function look(line, time, seq)
  local key = queue_key(queue.id, ARGV[LINES + line])
  local first = passed(key, time, seq)
  local upto = first + room - #seqs - 1
  local some = newest and call('ZRANGE', key, first, upto, 'REV', 'WITHSCORES') or call('ZRANGE', key, first, upto, 'WITHSCORES')
  for place = 1, #some, 2 do
    local at = tonumber(some[place + 1])
    if beyond(at) then
      return
    end
    table.insert(seqs, some[place])
    table.insert(places, { text(line), text(at) })
  end
end

local begin = tonumber(ARGV[4])
for line = begin, #ARGV - LINES do
  if #seqs < room then
    look(line, ARGV[line == begin and 5 or 7], ARGV[line == begin and 6 or 8])
  end
end

load_rows(seqs)
local saids, found = ARGV[11] == '1' and values_of('m:', seqs) or {}, {}
for place, seq in ipairs(seqs) do
  local row, line = row_of(seq), places[place]
  local metadata = saids[place] and unpacked(saids[place], SAID)[4] or ''
  found[place] = { line[1], line[2], seq, state_of(row, now), text(row.born), metadata }
end
return { text(now), found }
