-- The life of a message: it waits in a queue, is held, put back, or leaves it for good or for another queue.

local LIFE = { 'tok', 'by', 'since', 'src', 'why', 'parked', 'gid', 'group', 'state', 'ended', 'result', 'filed' }
local TIMES = { 'at', 'tries', 'gets', 'born', 'deadline' }

-- The row of a stored message, or nil. It is pending if it has `at`, finished if it has `state`.
local function row_of(seq)
  local fields = call('HGETALL', PREFIX .. 'm:' .. seq)
  if #fields == 0 then
    return nil
  end
  local row = { seq = seq }
  for place = 1, #fields, 2 do
    row[fields[place]] = fields[place + 1]
  end
  for _, name in ipairs(TIMES) do
    row[name] = tonumber(row[name])
  end
  return row
end

local function pending(seq)
  local row = row_of(seq)
  return row and row.at and row or nil
end

local function write(row, ...)
  call('HSET', PREFIX .. 'm:' .. row.seq, ...)
end

local function clear(row, ...)
  call('HDEL', PREFIX .. 'm:' .. row.seq, ...)
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
  call('ZADD', line_of(row), row.at, row.seq)
  if row.tok then
    call('ZADD', queue_key(row.q, 'held'), row.at, row.seq)
  elseif row.tries > 0 then
    call('ZADD', queue_key(row.q, 'retried'), row.at, row.seq)
  end
end

-- Undo what `place` did about attempts, before they or the token change.
local function forget_tries(row)
  if row.tok then
    call('ZREM', queue_key(row.q, 'held'), row.seq)
  elseif row.tries > 0 then
    call('ZREM', queue_key(row.q, 'retried'), row.seq)
  end
end

-- The group's next message becomes its head; a group without one is no more.
local function promote(queue, gid, group, now)
  local behind = PREFIX .. 'g:' .. gid
  local seq = call('ZRANGE', behind, 0, 0)[1]
  if not seq then
    call('HDEL', queue_key(queue, 'groups'), group)
    return
  end
  call('ZREM', behind, seq)
  call('ZREM', queue_key(queue, 'parked'), seq)
  local row = row_of(seq)
  row.parked, row.at = nil, math.max(row.at, now)
  clear(row, 'parked')
  write(row, 'at', row.at)
  place(row)
  stir(queue)
end

local function leave(row, now)
  call('ZREM', queue_key(row.q, 'open'), row.seq)
  call('ZREM', line_of(row), row.seq)
  forget_tries(row)
  if row.src then
    call('ZREM', queue_key(row.q, 'lettered'), row.seq)
  end
  if row.deadline then
    call('ZREM', queue_key(row.q, 'deadlines'), row.seq)
  end
  if row.parked then
    call('ZREM', PREFIX .. 'g:' .. row.gid, row.seq)
  elseif row.gid then
    promote(row.q, row.gid, row.group, now)
  end
end

-- Take a place in the group: whoever finds none there is its head.
local function join(row, group)
  local groups = queue_key(row.q, 'groups')
  row.group, row.gid = group, call('HGET', groups, group)
  if row.gid then
    row.parked = '1'
    call('ZADD', PREFIX .. 'g:' .. row.gid, tonumber(row.seq), row.seq)
    write(row, 'gid', row.gid, 'group', group, 'parked', '1')
  else
    row.gid = text(call('INCR', PREFIX .. 'last_gid'))
    call('HSET', groups, group, row.gid)
    write(row, 'gid', row.gid, 'group', group)
  end
end

-- Let a stored message begin a life in a queue, never attempted there.
local function start(row, queue, at, gets, src, why)
  for _, name in ipairs(LIFE) do
    row[name] = nil
  end
  row.q, row.at, row.tries, row.gets, row.src, row.why = queue.id, at, 0, gets, src, why
  write(row, 'q', row.q, 'at', at, 'tries', 0, 'gets', gets)
  if src then
    write(row, 'src', src, 'why', why)
    call('ZADD', queue_key(row.q, 'lettered'), tonumber(row.seq), row.seq)
  end
  if row.grp or queue.fifo == '1' then
    join(row, row.grp or '')
  end
  if row.deadline then
    call('ZADD', queue_key(row.q, 'deadlines'), row.deadline, row.seq)
  end
  call('ZADD', queue_key(row.q, 'open'), tonumber(row.seq), row.seq)
  place(row)
  stir(row.q)
end

-- Take a row from its holder and let it come back then, in its old place in its group.
local function put_back(row, at, tries)
  forget_tries(row)
  if row.tok then
    clear(row, 'tok', 'by', 'since')
  end
  row.tok, row.by, row.since, row.at, row.tries = nil, nil, nil, at, tries
  write(row, 'at', at, 'tries', tries)
  place(row)
  stir(row.q)
end

local function fail(row, error, ended)
  local name = queue_of(row.q).name
  local values = { text(row.tries), name, row.by or '', row.since or '', text(ended), error }
  call('RPUSH', PREFIX .. 'f:' .. row.seq, packed(values))
end

local VANISHED = 'the lease ended without an answer'

local function fail_if_vanished(row)
  if row.tok then
    fail(row, VANISHED, row.at)
  end
end

local function finish(row, state, why, now, result)
  leave(row, now)
  clear(row, 'at', 'parked', 'gid', 'group', 'why')
  write(row, 'state', state, 'ended', now)
  if why then
    write(row, 'why', why)
  end
  if result then
    write(row, 'result', result)
  end
  call('ZADD', queue_key(row.q, state), tonumber(row.seq), row.seq)
  call('ZADD', queue_key(row.q, 'ended'), now, row.seq)
  if state == 'done' and queue_of(row.q).retention == 0 then
    call('DEL', PREFIX .. 'b:' .. row.seq)
    write(row, 'gone', '1')
  end
end

-- Let a row be dead, or go to the dead-letter queue if there is one.
local function bury(row, why, now)
  local queue = queue_of(row.q)
  if not queue.dead_letter then
    return finish(row, 'dead', why, now)
  end
  leave(row, now)
  clear(row, unpack(LIFE))
  start(row, queue_of(queue.dead_letter), now, row.gets, queue.name, why)
end

local function leave_finished(row)
  for _, part in ipairs({ row.state, 'ended', 'filed' }) do
    call('ZREM', queue_key(row.q, part), row.seq)
  end
end

-- Give a pending or finished message another life in a queue.
local function restart(row, queue, now)
  if row.at and row.q == queue.id then -- where it is already, it keeps its place in its group
    if row.src then
      call('ZREM', queue_key(row.q, 'lettered'), row.seq)
      clear(row, 'src', 'why')
    end
    return put_back(row, now, 0)
  end
  if row.at then
    leave(row, now)
  else
    leave_finished(row)
  end
  clear(row, unpack(LIFE))
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
