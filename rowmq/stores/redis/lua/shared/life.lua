-- The life of a message: it waits in a queue, is held, put back, or leaves it for good or for another queue.

local FAILED = 50000 -- how many failures of a queue can be searched, as rowmq/core/monitor.py says
local SAID = 11 -- the texts that a message is packed of, as its sender says it
local LIFE = { 'tok', 'by', 'since', 'src', 'why', 'parked', 'gid', 'group', 'state', 'ended', 'filed', 'at' }
local function pending(seq)
  local row = row_of(seq)
  return row and row.at and row or nil
end

local function state_of(row, now)
  if row.state then
    return row.state
  end
  if row.at <= now then
    return 'ready'
  end
  return row.tok and 'leased' or 'scheduled'
end

-- Where a pending row is found by its time: parked behind its group's head, or due.
local function line_of(row)
  return queue_key(row.q, row.parked and 'parked' or 'due:' .. row.pri)
end

local function place(row)
  score(line_of(row), row.seq, row.at)
  if row.tok then
    score(queue_key(row.q, 'held'), row.seq, row.at)
  elseif row.tries > 0 then
    score(queue_key(row.q, 'retried'), row.seq, row.at)
  end
end

-- Undo what `place` did about attempts, before they or the token change.
local function forget_tries(row)
  if row.tok then
    score(queue_key(row.q, 'held'), row.seq, false)
  elseif row.tries > 0 then
    score(queue_key(row.q, 'retried'), row.seq, false)
  end
end

-- The group's next message becomes its head; a group without one is no more.
local function promote(queue, gid, group, now)
  local behind = PREFIX .. 'g:' .. gid
  local seq = zset('ZRANGE', behind, 0, 0)[1]
  if not seq then
    call('HDEL', queue_key(queue, 'groups'), group)
    return
  end
  score(behind, seq, false)
  score(queue_key(queue, 'parked'), seq, false)
  local row = row_of(seq)
  row.parked, row.at = nil, math.max(row.at, now)
  save(row)
  place(row)
  stir(queue)
end

local function leave(row, now)
  mark(row.q, 'open', row.seq, false)
  score(line_of(row), row.seq, false)
  forget_tries(row)
  if row.src then
    score(queue_key(row.q, 'lettered'), row.seq, false)
  end
  if row.deadline then
    score(queue_key(row.q, 'deadlines'), row.seq, false)
  end
  if row.parked then
    score(PREFIX .. 'g:' .. row.gid, row.seq, false)
  elseif row.gid then
    promote(row.q, row.gid, row.group, now)
  end
end

-- Take a place in the group: whoever finds none there is its head.
local function join(row, group)
  local groups = queue_key(row.q, 'groups')
  row.group, row.gid = group, call('HGET', groups, group)
  if row.gid then
    row.parked = true
    score(PREFIX .. 'g:' .. row.gid, row.seq, tonumber(row.seq))
  else
    row.gid = text(call('INCR', PREFIX .. 'last_gid'))
    call('HSET', groups, group, row.gid)
  end
end

-- Let a stored message begin a life in a queue, never attempted there.
local function start(row, queue, at, gets, src, why)
  for _, name in ipairs(LIFE) do
    row[name] = nil
  end
  row.q, row.at, row.tries, row.gets, row.src, row.why = queue.id, at, 0, gets, src, why
  save(row)
  if src then
    score(queue_key(row.q, 'lettered'), row.seq, tonumber(row.seq))
  end
  if row.grp or queue.fifo == '1' then
    join(row, row.grp or '')
  end
  if row.deadline then
    score(queue_key(row.q, 'deadlines'), row.seq, row.deadline)
  end
  mark(row.q, 'open', row.seq, true)
  place(row)
  stir(row.q)
end

-- Take a row from its holder and let it come back then, in its old place in its group.
local function put_back(row, at, tries)
  forget_tries(row)
  row.tok, row.by, row.since, row.at, row.tries = nil, nil, nil, at, tries
  save(row)
  place(row)
  stir(row.q)
end

-- The newest failures of a queue are found by their number; a failure is one of its message's list.
local function log_failure(row, length)
  local key = queue_key(row.q, 'failed')
  local number = (tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]) or 0) + 1
  call('ZADD', key, text(number), row.seq .. ' ' .. text(length - 1))
  if call('ZCARD', key) > FAILED then
    call('ZREM', key, call('ZRANGE', key, 0, 0)[1])
  end
  happen(row.q, 'failed')
end

local function fail(row, error, ended)
  local name = queue_of(row.q).name
  local values = { text(row.tries), name, row.by or '', row.since and text(row.since) or '', text(ended), error }
  log_failure(row, call('RPUSH', PREFIX .. 'f:' .. row.seq, packed(values)))
end

local VANISHED = 'the lease ended without an answer'

local function fail_if_vanished(row)
  if row.tok then
    fail(row, VANISHED, row.at)
  end
end

-- What was said, without its body: the second of the texts that it is packed of.
local function without_body(blob)
  local texts = unpacked(blob, SAID)
  texts[2] = ''
  return packed(texts)
end

local function conclude(row, state, why, now)
  row.at, row.parked, row.gid, row.group = nil, nil, nil, nil
  row.state, row.ended, row.why = state, now, why
end

local function finish(row, state, why, now, result)
  leave(row, now)
  conclude(row, state, why, now)
  save(row)
  if result then
    call('SET', PREFIX .. 'r:' .. row.seq, result)
  end
  mark(row.q, state, row.seq, true)
  score(queue_key(row.q, 'ended'), row.seq, now)
  if state == 'dead' then
    score(queue_key(row.q, 'died'), row.seq, now)
  end
  happen(row.q, state)
  if state == 'done' and queue_of(row.q).retention == 0 then
    row.gone = true
    bodies[row.seq] = without_body(body_of(row.seq))
  end
end

-- Let a row be dead, or go to the dead-letter queue if there is one.
local function bury(row, why, now)
  local queue = queue_of(row.q)
  if not queue.dead_letter then
    return finish(row, 'dead', why, now)
  end
  leave(row, now)
  start(row, queue_of(queue.dead_letter), now, row.gets, queue.name, why)
end

local function leave_finished(row)
  mark(row.q, row.state, row.seq, false)
  for _, part in ipairs({ 'ended', 'filed' }) do
    score(queue_key(row.q, part), row.seq, false)
  end
  if row.state == 'dead' then
    score(queue_key(row.q, 'died'), row.seq, false)
  end
end

-- Give a pending or finished message another life in a queue.
local function restart(row, queue, now)
  if row.at and row.q == queue.id then -- where it is already, it keeps its place in its group
    if row.src then
      score(queue_key(row.q, 'lettered'), row.seq, false)
      row.src, row.why = nil, nil
    end
    return put_back(row, now, 0)
  end
  if row.at then
    leave(row, now)
  else
    leave_finished(row)
  end
  start(row, queue, now, row.gets)
end

-- The row if this token still holds it, which in a fifo queue ends with the lease.
local function holding(seq, token, now)
  local row = pending(seq)
  if not row or row.tok ~= token or (queue_of(row.q).fifo == '1' and row.at <= now) then
    return nil
  end
  return row
end
