-- Failed attempts: each is packed of six texts, the last of them its error.

local GAP = '\n…\n' -- as rowmq/core/excerpt.py has it
local ERROR = 6

-- Where the character begins that has the byte at this place.
local function beginning(error, place)
  while place > 1 and string.find(string.sub(error, place, place), '[\128-\191]') do
    place = place - 1
  end
  return place
end

-- A text of up to so many bytes, or else its beginning and its end.
local function cut(error, longest)
  if #error <= longest then
    return error
  end
  local half = math.floor((longest - 3) / 2)
  return string.sub(error, 1, beginning(error, half + 1) - 1) .. GAP .. string.sub(error, beginning(error, #error - half + 1))
end

-- {the failure with its error cut, bytes of all of that, 1 if it was too long}
local function excerpt(blob, longest)
  local values = unpacked(blob, ERROR)
  local size = #values[ERROR]
  values[ERROR] = cut(values[ERROR], longest)
  return { packed(values), size, size > longest and 1 or 0 }
end

-- Whether a failure was in a queue and has a text, which is in lower case, in its error.
local function matches(blob, queue, sought)
  local values = unpacked(blob, ERROR)
  return values[2] == queue and string.find(string.lower(values[ERROR]), sought, 1, true) ~= nil
end
