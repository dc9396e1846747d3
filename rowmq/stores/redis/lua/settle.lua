#!lua flags=allow-oom
--! keys queues writing rules life
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

local given, results = {}, {}
if ARGV[2] == 'acks' then
  for start = 1, #ARGV[3], 32 do
    local seq, token = string.sub(ARGV[3], start, start + 15), string.sub(ARGV[3], start + 16, start + 31)
    given[#given + 1] = { settle, seq, token, 'ack', '', '' }
  end
else
  for start = 2, #ARGV, 6 do
    given[#given + 1] = { ARGV[start] == 'claim' and settle_claim or settle, unpack(ARGV, start + 1, start + 5) }
  end
end
local seqs = {}
for place, each in ipairs(given) do
  seqs[place] = each[2]
end
load_rows(seqs)
for place, each in ipairs(given) do
  results[place] = string.sub(each[1](unpack(each, 2)), 1, 1)
end
write_all()
wake()
return table.concat(results)
