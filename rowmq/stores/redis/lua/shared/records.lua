-- Messages as they are shown: each its row and behind it what was said, both as they are kept. Their lengths are in them.

local SHEAF = 32768 -- about so many bytes are one text: who reads an answer spends more on a short text than on its
-- bytes, and a long one is copied again and again while it is made

local function all_said(seqs)
  return values_of('m:', seqs)
end

-- The messages in sheaves, one behind the other.
local function sheaves(seqs, saids)
  local parts, found, count, size = {}, {}, 0, 0
  for place = 1, #seqs do
    local row, said = kept_row(seqs[place]), saids[place]
    parts[count + 1], parts[count + 2] = row, said
    count, size = count + 2, size + #row + #said
    if size >= SHEAF or place == #seqs then
      found[#found + 1] = table.concat(parts, '', 1, count)
      count, size = 0, 0
    end
  end
  return found
end

-- {all seqs in one text, messages in sheaves, of each queue among them {id, name, attempts at most or ''}}. `said_by`
-- reads what messages say, if that is not to be all; `in_queue` is the id of the queue that all are in, if that is known.
local function shown(seqs, said_by, in_queue)
  local queues, seen = {}, {}
  for place = 1, in_queue and math.min(1, #seqs) or #seqs do
    local id = in_queue or row_of(seqs[place]).q
    if not seen[id] then
      local queue = queue_of(id)
      seen[id] = true
      table.insert(queues, { id, queue.name, queue.max_attempts and text(queue.max_attempts) or '' })
    end
  end
  return { table.concat(seqs), sheaves(seqs, (said_by or all_said)(seqs)), queues }
end
