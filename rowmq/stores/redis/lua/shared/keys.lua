-- Keys, numbers and texts. KEYS[1] is the prefix that every key begins with, hash tag and all.
-- A queue's, topic's, group's or claim's part of a key is a number that we gave it, never its name.

local PREFIX = KEYS[1]
local call = redis.call

local function queue_key(queue, part)
  return PREFIX .. 'q:' .. queue .. ':' .. part
end

local written = {}

-- Lua's own way to write a large number has an exponent and drops digits. The messages of one script share most
-- of their numbers, and writing one takes longer than a command.
local function text(number)
  local known = written[number]
  if not known then
    known = string.format('%.0f', number)
    written[number] = known
  end
  return known
end

-- A seq as a member of a sorted set: members of one score are sorted as texts.
local function padded(number)
  return string.format('%016.0f', number)
end

local present -- what the clock has said

-- The moment that counts: the one given, or what the server's clock says, in microseconds.
local function clock(given)
  present = tonumber(given)
  if not present then
    local time = call('TIME')
    present = time[1] * 1000000 + time[2]
  end
  return present
end

-- A text that may be missing: '' is none, any other begins with '='.
local function optional(given)
  return given ~= '' and string.sub(given, 2) or nil
end

local formats = {}

local function format_of(count)
  formats[count] = formats[count] or '>' .. string.rep('I4', count)
  return formats[count]
end

-- Many texts as one: the length of each, then all of them.
local function packed(texts)
  local lengths = {}
  for place = 1, #texts do
    lengths[place] = #texts[place]
  end
  return struct.pack(format_of(#texts), unpack(lengths)) .. table.concat(texts)
end

local function unpacked(blob, count)
  local lengths = { struct.unpack(format_of(count), blob) }
  local texts, start = {}, lengths[count + 1]
  for place = 1, count do
    texts[place] = string.sub(blob, start, start + lengths[place] - 1)
    start = start + lengths[place]
  end
  return texts
end
