-- Deleting messages for good, always with a line in the ledger.

local function note(queue, action, seqs, now)
  if #seqs > 0 then
    table.sort(seqs)
    local values = { text(now), queue, action, text(#seqs), seqs[1], seqs[#seqs] }
    call('RPUSH', PREFIX .. 'ledger', packed(values))
  end
end

local function erase(row, now)
  if row.at then
    leave(row, now)
  elseif row.state then
    leave_finished(row)
  end
  unwrite(row)
end

-- Delete rows of any queues; how many.
local function erase_all(chosen, action, now)
  local gone, names, seqs = {}, {}, {}
  for place, row in ipairs(chosen) do
    seqs[place] = row.seq
  end
  load_rows(seqs)
  for _, row in ipairs(chosen) do
    local name = queue_of(row.q).name
    if not gone[name] then
      gone[name] = {}
      table.insert(names, name)
    end
    table.insert(gone[name], row.seq)
    erase(row_of(row.seq), now)
  end
  table.sort(names)
  for _, name in ipairs(names) do
    note(name, action, gone[name], now)
  end
  return #chosen
end
