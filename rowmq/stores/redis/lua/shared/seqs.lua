-- Sets of seqs, for what a queue has of each state: pages of bits, a sorted set of the pages that have any, and how
-- many there are in all. A million messages in order are a thousand short texts.

local PAGE, WORD = 1024, 32 -- seqs of a page, and of a number that is written at once
local floor, bor, band, bnot = math.floor, bit.bor, bit.band, bit.bnot
local marks, bits = {}, {}
for place = 0, WORD - 1 do
  bits[place] = 2 ^ (WORD - 1 - place)
end

-- Put seqs into one of a queue's sets, or take them out; written behind, with everything else.
local function mark_all(queue, part, seqs, there)
  local name = queue .. ':' .. part
  local set = marks[name] or { queue = queue, part = part, into = {}, out = {} }
  marks[name] = set
  local these, others = set.into, set.out
  if not there then
    these, others = others, these
  end
  for place = 1, #seqs do
    local number = tonumber(seqs[place])
    local word, one = floor(number / WORD), bits[number % WORD]
    these[word] = bor(these[word] or 0, one)
    if others[word] then
      others[word] = band(others[word], bnot(one))
    end
  end
end

local function mark(queue, part, seq, there)
  mark_all(queue, part, { seq }, there)
end

-- How many bits of a number are set.
local function weight(number)
  local count = 0
  while number ~= 0 do
    number, count = band(number, number - 1), count + 1
  end
  return count
end

-- The words of a set that change, by page.
local function changes_of(set)
  local pages = {}
  for _, words in ipairs({ set.into, set.out }) do
    for word in pairs(words) do
      local page = floor(word * WORD / PAGE) * PAGE
      pages[page] = pages[page] or {}
      pages[page][word - page / WORD] = word
    end
  end
  return pages
end

-- Write the words of a page that change; how many seqs more it has.
local function write_page(key, set, words)
  local asking, writing, places, more = {}, {}, {}, 0
  for place in pairs(words) do
    local last = #asking
    asking[last + 1], asking[last + 2], asking[last + 3] = 'GET', 'u32', '#' .. place
    places[#places + 1] = place
  end
  for number, before in ipairs(call('BITFIELD', key, unpack(asking))) do
    local place, last = places[number], #writing
    local into, out = set.into[words[place]] or 0, set.out[words[place]] or 0
    local after = band(bor(before, into), bnot(out))
    more = more + weight(band(after, bnot(before))) - weight(band(before, bnot(after)))
    writing[last + 1], writing[last + 2], writing[last + 3] = 'SET', 'u32', '#' .. place
    writing[last + 4] = after % 2 ^ WORD
  end
  call('BITFIELD', key, unpack(writing))
  return more
end

local function write_marks()
  for _, set in pairs(marks) do
    local key, more = queue_key(set.queue, set.part), 0
    for page, words in pairs(changes_of(set)) do
      local name = text(page)
      local change = write_page(key .. ':' .. name, set, words)
      if change > 0 then
        call('ZADD', key, name, name)
      elseif call('BITCOUNT', key .. ':' .. name) == 0 then
        call('UNLINK', key .. ':' .. name)
        call('ZREM', key, name)
      end
      more = more + change
    end
    if more ~= 0 then
      call('HINCRBY', queue_key(set.queue, 'counts'), set.part, more)
    end
  end
  marks = {}
end

-- How many seqs there are in a set.
local function count_of(queue, part)
  if next(marks) then
    write_marks()
  end
  return tonumber(call('HGET', queue_key(queue, 'counts'), part)) or 0
end

-- Tell the seqs of a page in their order until told to stop, which is the result.
local function each_seq(bits, page, tell)
  for place = 1, #bits do
    local byte, bit = string.byte(bits, place), 7
    while byte > 0 do
      if byte >= 2 ^ bit then
        byte = byte - 2 ^ bit
        if tell(page + 8 * place - 1 - bit) then
          return true
        end
      end
      bit = bit - 1
    end
  end
  return false
end

-- The seqs of a set behind one of them and up to another, in their order.
local function seqs_behind(queue, part, after, last, limit)
  after, last, limit = tonumber(after), tonumber(last), tonumber(limit)
  local key, found = queue_key(queue, part), {}
  local function tell(seq)
    if seq > last or #found >= limit then
      return true
    end
    if seq > after then
      found[#found + 1] = padded(seq)
    end
  end
  local from = text(after - after % PAGE)
  repeat
    local pages = call('ZRANGE', key, from, text(last), 'BYSCORE', 'LIMIT', 0, 16)
    for _, page in ipairs(pages) do
      if each_seq(call('GET', key .. ':' .. page), tonumber(page), tell) then
        return found
      end
      from = '(' .. page
    end
  until #pages == 0
  return found
end

-- The lowest and the highest seq of a set, or nil.
local function ends_of(queue, part)
  local key, highest = queue_key(queue, part), nil
  local page = call('ZRANGE', key, -1, -1)[1]
  if page then
    each_seq(call('GET', key .. ':' .. page), tonumber(page), function(seq)
      highest = padded(seq)
    end)
  end
  return seqs_behind(queue, part, -1, 2 ^ 53, 1)[1], highest
end
