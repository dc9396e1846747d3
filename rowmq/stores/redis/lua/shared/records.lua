-- Messages as they are shown: what was said, and the row, both as they are kept.

-- {seqs, what was said, rows, results}, and of each queue among them {id, name, attempts at most}.
local function shown(some)
  local seqs, lives, queues, seen = {}, {}, {}, {}
  for place, row in ipairs(some) do
    seqs[place], lives[place] = row.seq, packed_row(row)
    if not seen[row.q] then
      local queue = queue_of(row.q)
      seen[row.q] = true
      table.insert(queues, { row.q, queue.name, queue.max_attempts and text(queue.max_attempts) or '' })
    end
  end
  return { seqs, values_of('m:', seqs), lives, queues }
end
