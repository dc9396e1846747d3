#!lua flags=allow-oom
--! keys seqs queues writing rules life kinds
-- Ack, retry, release or bury what is held, in the given order.
-- KEYS[1] prefix
-- ARGV[1] now or ''; then either 'acks' and one text of seq and token of each, or for each settlement 6: 'receipt'
--         or 'claim', seq or name, token, what ('ack', 'retry', 'release' or 'bury'), its value (a result if any,
--         a delay, a delay, a reason), an error if any
-- Result: one text with a letter for each: s settled, r repeated, l lost.

local now = clock(ARGV[1])

local function retry(row, delay, error)
  local why = overdue(row, false, queue_of(row.q), now)
  if error then
    fail(row, error, now)
  end
  if why then
    bury(row, why, now)
  else
    put_back(row, now + tonumber(delay), row.tries)
  end
end

local function apply(row, what, value, error)
  if what == 'ack' then
    finish(row, 'done', nil, now, optional(value))
  elseif what == 'retry' then
    retry(row, value, optional(error))
  elseif what == 'release' then
    put_back(row, now + tonumber(value), row.tries - 1)
  else
    if error ~= '' then
      fail(row, optional(error), now)
    end
    bury(row, value, now)
  end
end

-- Whether the message is done because this token's holder said so.
local function acked(seq, token)
  local row = row_of(seq)
  return row and row.state == 'done' and row.tok == token
end

local function settle(seq, token, what, value, error)
  local row = holding(seq, token, now)
  if not row then
    return what == 'ack' and acked(seq, token) and 'repeated' or 'lost'
  end
  apply(row, what, value, error)
  return 'settled'
end

local function settle_claim(name, token, what, value, error)
  local claim = call('HGET', PREFIX .. 'claims', name)
  if not claim or call('HGET', PREFIX .. 'c:' .. claim, 'tok') ~= token then
    return 'lost'
  end
  local seqs, answers = call('LRANGE', PREFIX .. 'c:' .. claim .. ':seqs', 0, -1), {}
  for _, seq in ipairs(seqs) do
    answers[settle(seq, token, what, value, error)] = true
  end
  if answers.settled or #seqs == 0 then
    return 'settled'
  end
  return answers.repeated and 'repeated' or 'lost'
end

local finished = {}

-- What is to be known of messages alike that are acked as one: somebody holds them, they are of no group and no dead
-- letters, have no deadline, and keep their bodies.
local function alike(row)
  local queue = row.tok and row.at and queue_of(row.q)
  if not queue or queue.fifo == '1' or queue.retention == 0 or row.gid or row.src or row.deadline then
    return nil
  end
  local lists = list_of(finished, row.q)
  local kind = { tok = row.tok, all = list_of(lists, 'open'), line = list_of(lists, line_of(row)) }
  conclude(row, 'done', nil, now)
  return kind
end

local function ack_alike(kinds, seq, token)
  local blob = rows[seq]
  local kind = type(blob) == 'string' and kind_of(kinds, seq, blob, alike)
  if not kind or kind.tok ~= token then
    return false
  end
  become(kind, seq, blob)
  kind.all[#kind.all + 1], kind.line[#kind.line + 1] = seq, seq
  return true
end

local function place_alike()
  for id, lists in pairs(finished) do
    local all = lists.open
    mark_all(id, 'open', all, false)
    mark_all(id, 'done', all, true)
    score_all(queue_key(id, 'held'), all, false)
    score_all(queue_key(id, 'ended'), all, now)
    happen(id, 'done', #all)
    lists.open = nil
    for line, seqs in pairs(lists) do
      score_all(line, seqs, false)
    end
  end
end

-- Acks without results, which nearly all are.
local function settle_acks(given)
  local seqs, tokens, results, kinds = {}, {}, {}, {}
  for start = 1, #given, 32 do
    seqs[#seqs + 1] = sub(given, start, start + 15)
    tokens[#tokens + 1] = sub(given, start + 16, start + 31)
  end
  load_rows(seqs)
  for place = 1, #seqs do
    local seq, token = seqs[place], tokens[place]
    results[place] = ack_alike(kinds, seq, token) and 's' or sub(settle(seq, token, 'ack', '', ''), 1, 1)
  end
  place_alike()
  return results
end

local function settle_each(first)
  local given, seqs, results = {}, {}, {}
  for start = first, #ARGV, 6 do
    given[#given + 1] = { ARGV[start] == 'claim' and settle_claim or settle, unpack(ARGV, start + 1, start + 5) }
    seqs[#seqs + 1] = ARGV[start + 1]
  end
  load_rows(seqs)
  for place, each in ipairs(given) do
    results[place] = sub(each[1](unpack(each, 2)), 1, 1)
  end
  return results
end

local results = ARGV[2] == 'acks' and settle_acks(ARGV[3]) or settle_each(2)
write_all()
wake()
return table.concat(results)
