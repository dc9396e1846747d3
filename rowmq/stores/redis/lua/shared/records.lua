-- Messages as they are shown: each its row and behind it what was said, both as they are kept.

-- {all seqs in one text, messages, of each queue among them {id, name, attempts at most or ''}}
local function shown(some)
  local seqs, messages, queues, seen = {}, {}, {}, {}
  for place, row in ipairs(some) do
    seqs[place] = row.seq
    if not seen[row.q] then
      local queue = queue_of(row.q)
      seen[row.q] = true
      table.insert(queues, { row.q, queue.name, queue.max_attempts and text(queue.max_attempts) or '' })
    end
  end
  for place, said in ipairs(values_of('m:', seqs)) do
    messages[place] = packed_row(some[place]) .. said
  end
  return { table.concat(seqs), messages, queues }
end
