-- Messages as they are shown: each its row and behind it what was said, both as they are kept.

local function all_said(seqs)
  return values_of('m:', seqs)
end

-- {all seqs in one text, messages, of each queue among them {id, name, attempts at most or ''}}; `said_by` reads what
-- messages say, if that is not to be all.
local function shown(some, said_by)
  local seqs, messages, queues, seen = {}, {}, {}, {}
  for place, row in ipairs(some) do
    seqs[place] = row.seq
    if not seen[row.q] then
      local queue = queue_of(row.q)
      seen[row.q] = true
      table.insert(queues, { row.q, queue.name, queue.max_attempts and text(queue.max_attempts) or '' })
    end
  end
  for place, said in ipairs((said_by or all_said)(seqs)) do
    messages[place] = packed_row(some[place]) .. said
  end
  return { table.concat(seqs), messages, queues }
end
