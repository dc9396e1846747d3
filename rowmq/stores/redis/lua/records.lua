#!lua flags=no-writes
--! keys seqs queues writing life records
-- Messages by their seqs, as far as a list shows them.
-- KEYS[1] prefix
-- ARGV[1] now or '', [2] bytes of a payload at most, then seqs
-- Result: {now; the messages that are stored as shared/records.lua shows them, their payloads cut}

local now, longest, found = clock(ARGV[1]), tonumber(ARGV[2]), {}
load_rows({ unpack(ARGV, 3) })
for place = 3, #ARGV do
  local row = row_of(ARGV[place])
  if row and row.q then
    table.insert(found, ARGV[place])
  end
end
-- What a message says, with the beginning of its payload, the second text, alone; the rest of a large one is not read.
local function beginning_of(seq)
  local key, before = PREFIX .. 'm:' .. seq, 4 * SAID
  if call('STRLEN', key) <= 4 * longest then
    return call('GET', key)
  end
  local lengths = { struct.unpack(format_of(SAID), call('GETRANGE', key, 0, before - 1)) }
  local body, size = before + lengths[1], lengths[2]
  local kept = call('GETRANGE', key, before, body + math.min(size, longest) - 1) .. call('GETRANGE', key, body + size, -1)
  lengths[2] = math.min(size, longest)
  return struct.pack(format_of(SAID), unpack(lengths, 1, SAID)) .. kept
end

local function beginnings(seqs)
  local said = {}
  for place, seq in ipairs(seqs) do
    said[place] = beginning_of(seq)
  end
  return said
end

return { text(now), shown(found, beginnings) }
