-- Claiming: the search for one want's messages, all leased under its token.

local CANDIDATES = 10000
-- How many messages one search buries or passes by; what is left is for the next one.
local LONGEST_SEARCH = 5000

local function meets(condition, metadata)
  local value, operator = metadata[condition[1]], condition[2]
  if operator == 'exists' then
    return value ~= nil
  end
  local among = false
  for _, each in ipairs(condition[3]) do
    among = among or each == value
  end
  if operator == '!=' then
    return not among
  end
  return among
end

local function metadata_of(row)
  local metadata = unpacked(body_of(row.seq), SAID)[4]
  return metadata ~= '' and cjson.decode(metadata) or {}
end

local function matches(row, want, now)
  if want.upto and tonumber(row.seq) > want.upto then
    return false
  end
  if want.max_age and row.born + want.max_age <= now then
    return false
  end
  if (want.since and row.born < want.since) or (want.before and row.born >= want.before) then
    return false
  end
  local metadata = want.where[1] and metadata_of(row) or {}
  for _, condition in ipairs(want.where) do
    if not meets(condition, metadata) then
      return false
    end
  end
  return true
end

-- The consumer's index among those alive, and their count; nothing if it is not one of them.
local function membership(queue, consumer, now)
  local births, alive = queue_key(queue.id, 'births'), queue_key(queue.id, 'alive')
  local ends = consumer and call('ZSCORE', alive, consumer)
  if not ends or tonumber(ends) <= now then
    return nil
  end
  local index, count = call('ZRANK', births, consumer), call('ZCARD', births)
  local dead = call('ZRANGE', alive, '-inf', now, 'BYSCORE')
  local before = index
  for _, name in ipairs(dead) do
    if call('ZRANK', births, name) < before then
      index = index - 1
    end
  end
  return index, count - #dead
end

-- The candidates to try for: the search's own share first, then others', each in the given order.
local function own_first(search, candidates)
  if search.count == 1 then
    return candidates
  end
  local own, others = {}, {}
  for _, seq in ipairs(candidates) do
    table.insert(tonumber(seq) % search.count == search.index and own or others, seq)
  end
  for _, seq in ipairs(others) do
    table.insert(own, seq)
  end
  return own
end

-- Add to `found` what is due in one priority, from a place in its line on, until there are enough. The place
-- where the look ended because it had lasted long enough, or nil.
local function look(search, priority, skip, enough, found)
  local line = queue_key(search.queue.id, 'due:' .. priority)
  while #found < enough do
    local some = search.want.conditional and math.min(1000, search.budget) or enough - #found
    if some == 0 then
      return skip
    end
    local seqs = zset('ZRANGE', line, '-inf', search.now, 'BYSCORE', 'LIMIT', skip, some)
    load_rows(seqs)
    for _, seq in ipairs(search.simple and {} or seqs) do
      local fresh = #found < enough and not search.left[seq] and not search.found[seq]
      if fresh and (not search.want.conditional or matches(row_of(seq), search.want, search.now)) then
        search.found[seq] = true
        table.insert(found, seq)
      end
    end
    for place = 1, search.simple and #seqs or 0 do
      found[#found + 1] = seqs[place]
    end
    skip, search.budget = skip + #seqs, search.budget - #seqs
    if #seqs < some then
      return nil
    end
  end
  return nil
end

local function walk(search, priority, skip, enough, found)
  for level = priority, 0, -1 do
    local place = look(search, level, skip, enough, found)
    if place then
      search.stopped = { level, place }
      return
    end
    skip = 0
  end
end

-- What is due, in order. A search with conditions is bounded: it goes on where the last one stopped, and at
-- the end from the beginning.
local function candidates(search, enough)
  local found, from = {}, search.want.from
  search.budget, search.stopped, search.found = CANDIDATES, nil, {}
  walk(search, from[1], from[2], enough, found)
  if not search.stopped and #found < enough and not (from[1] == 9 and from[2] == 0) then
    walk(search, 9, 0, enough, found)
  end
  return found
end

local function hold(search, row)
  local want, now = search.want, search.now
  row.tries, row.gets, row.tok, row.by, row.since = row.tries + 1, row.gets + 1, want.token, want.consumer, now
  row.at = lease_end(now, want.lease or search.queue.lease, row.deadline)
end

local function lease(search, row)
  forget_tries(row)
  hold(search, row)
  save(row)
  place(row)
  search.need = search.need - 1
end

-- Lease a row whose time has come, or bury it if it is overdue; whether it was leased.
local function take(search, row)
  fail_if_vanished(row)
  local why = overdue(row, row.tok, search.queue, search.now)
  if why then
    bury(row, why, search.now)
    search.buried = search.buried + 1
  else
    lease(search, row)
  end
  return not why
end

-- Whether somebody still holds a message that came with this head, where that locks the group.
local function held_behind(search, head)
  if search.queue.fifo ~= '1' or not head.gid or search.want.behind == 0 then
    return false
  end
  for _, seq in ipairs(zset('ZRANGE', PREFIX .. 'g:' .. head.gid, 0, search.want.behind - 1)) do
    local row = row_of(seq)
    if row.tok and row.at > search.now then
      return true
    end
  end
  return false
end

-- Take those parked behind a head that may come with it, up to the first that may not.
local function follow(search, head, run)
  local after = '-inf'
  while head.gid and search.need > 0 and #run < search.want.per_group do
    local behind = PREFIX .. 'g:' .. head.gid
    local seq = zset('ZRANGE', behind, after, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
    local row = seq and row_of(seq)
    if not row or row.at > search.now or not matches(row, search.want, search.now) then
      return
    end
    if take(search, row) then
      table.insert(run, seq)
    end
    after = '(' .. seq
  end
end

-- What is to be known of messages alike that are leased as one: they are of no group, no deadline ends their leases,
-- and nobody has held them.
local function alike(search, row)
  local queue = search.queue
  if row.tok or row.gid or row.deadline or queue.max_age or overdue(row, nil, queue, search.now) then
    return nil
  end
  local kind = { line = list_of(search.lines, line_of(row)), retried = row.tries > 0 and search.retried or nil }
  hold(search, row)
  return kind
end

-- Lease a message that is like others; false if it is not.
local function take_alike(search, seq)
  local blob = rows[seq]
  local kind = type(blob) == 'string' and kind_of(search.kinds, seq, blob, search.alike)
  if not kind then
    return false
  end
  become(kind, seq, blob)
  kind.line[#kind.line + 1], search.held[#search.held + 1] = seq, seq
  if kind.retried then
    kind.retried[#kind.retried + 1] = seq
  end
  search.need = search.need - 1
  search.runs[#search.runs + 1], search.before[#search.runs + 1] = seq, blob
  return true
end

-- Note the leases of messages alike, which all end together.
local function place_alike(search)
  local at = lease_end(search.now, search.want.lease or search.queue.lease)
  for line, seqs in pairs(search.lines) do
    score_all(line, seqs, at)
  end
  score_all(queue_key(search.queue.id, 'held'), search.held, at)
  score_all(queue_key(search.queue.id, 'retried'), search.retried, false)
end

local function visit(search, seq)
  if search.simple and take_alike(search, seq) then
    return
  end
  local head = row_of(seq)
  local order = { -head.pri, head.at, seq }
  if held_behind(search, head) and not overdue(head, head.tok, search.queue, search.now) then
    search.left[seq] = true
    search.passed = search.passed + 1
  elseif take(search, head) then
    local run = { seq }
    follow(search, head, run)
    table.insert(search.runs, { order, run })
  end
end

local function earlier(one, other)
  for place = 1, 3 do
    if one[1][place] ~= other[1][place] then
      return one[1][place] < other[1][place]
    end
  end
  return false
end

-- Sort what was found in more than one go.
local function sort_runs(search)
  for place, run in ipairs(search.runs) do
    if type(run) == 'string' then
      local row = unpacked_row(run, search.before[place])
      search.runs[place] = { { -row.pri, row.at, run }, { run } }
    end
  end
  for place = 2, #search.runs do -- nearly always they are in order
    if earlier(search.runs[place], search.runs[place - 1]) then
      table.sort(search.runs, earlier)
      break
    end
  end
end

-- What was leased: a message alone, or a head with its run.
local function leased_in(runs)
  local leased = {}
  for _, run in ipairs(runs) do
    if type(run) == 'string' then
      leased[#leased + 1] = run
    else
      for _, seq in ipairs(run[2]) do
        leased[#leased + 1] = seq
      end
    end
  end
  return leased
end

-- Lease what a want gets, in the order of the queue, a group's run behind its head.
local function search_for(queue, want, now)
  local index, count = membership(queue, want.sharer, now)
  local search = {
    queue = queue, want = want, now = now, index = index, count = count or 1, left = {}, passed = 0, buried = 0,
    runs = {}, need = room_for(queue, want.limit, now), before = {}, kinds = {}, lines = {}, held = {}, retried = {},
  }
  search.alike = function(row)
    return alike(search, row)
  end
  search.simple = search.count == 1 and not want.conditional -- the first go takes whatever comes, as it comes
  local simple = search.simple
  repeat
    local before, need = search.passed + search.buried, search.need
    local chosen = need > 0 and own_first(search, candidates(search, need * search.count)) or {}
    for place = 1, math.min(need, #chosen) do
      if search.need > 0 then
        visit(search, chosen[place])
      end
    end
    if search.simple then
      place_alike(search)
      search.simple = false
    end
    search.more = search.passed + search.buried > before and search.need > 0
    simple = simple and not search.more
  until not search.more or search.passed + search.buried >= LONGEST_SEARCH
  if not simple then
    sort_runs(search)
  end
  search.leased = leased_in(search.runs)
  return search
end
