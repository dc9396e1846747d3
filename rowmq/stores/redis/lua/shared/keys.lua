-- Keys, numbers and texts. KEYS[1] is the prefix that every key begins with, hash tag and all.
-- A queue's, topic's, group's or claim's part of a key is a number that we gave it, never its name.

local PREFIX = KEYS[1]
local call = redis.call

local function queue_key(queue, part)
  return PREFIX .. 'q:' .. queue .. ':' .. part
end

-- Lua's own way to write a large number has an exponent and drops digits.
local function text(number)
  return string.format('%.0f', number)
end

-- A seq as a member of a sorted set: members of one score are sorted as texts.
local function padded(number)
  return string.format('%016.0f', number)
end

-- The moment that counts: the one given, or what the server's clock says, in microseconds.
local function clock(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- A text that may be missing: '' is none, any other begins with '='.
local function optional(given)
  return given ~= '' and string.sub(given, 2) or nil
end

-- Many texts as one: the length of each, then all of them.
local function packed(texts)
  local lengths = {}
  for place = 1, #texts do
    lengths[place] = #texts[place]
  end
  return struct.pack('>' .. string.rep('I4', #texts), unpack(lengths)) .. table.concat(texts)
end

local function unpacked(blob, count)
  local lengths = { struct.unpack('>' .. string.rep('I4', count), blob) }
  local texts, start = {}, lengths[count + 1]
  for place = 1, count do
    texts[place] = string.sub(blob, start, start + lengths[place] - 1)
    start = start + lengths[place]
  end
  return texts
end
