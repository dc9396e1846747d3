#!lua flags=no-writes
--! keys seqs queues writing life records
-- The next messages by seq, of one queue or all.
-- KEYS[1] prefix
-- ARGV[1] queue name or '', [2] now or '', [3] after which seq, [4] up to which, [5] how many to look at,
--         [6] state or '', then the parts of a queue to look in: 'open', 'done', 'dead'
-- Result: {the last seq looked at, or '' at the end; now; messages as shared/records.lua shows them; the result
--         of each, or false}

local now, state = clock(ARGV[2]), ARGV[6]
local names = ARGV[1] ~= '' and { ARGV[1] } or call('HKEYS', PREFIX .. 'queues')
local seqs = {}
for _, name in ipairs(names) do
  local queue = call('HGET', PREFIX .. 'queues', name)
  for place = 7, queue and #ARGV or 0 do
    for _, seq in ipairs(seqs_behind(queue, ARGV[place], ARGV[3], ARGV[4], ARGV[5])) do
      table.insert(seqs, seq)
    end
  end
end
table.sort(seqs)

local found, limit = {}, math.min(#seqs, tonumber(ARGV[5]))
load_rows({ unpack(seqs, 1, limit) })
for place = 1, limit do
  local row = row_of(seqs[place])
  if state == '' or state_of(row, now) == state then
    table.insert(found, seqs[place])
  end
end
local last = limit == tonumber(ARGV[5]) and seqs[limit] or ''
return { last, text(now), shown(found), values_of('r:', found) }
