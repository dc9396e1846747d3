-- The rules of rowmq/core/outcome.py and rowmq/core/rate.py, word for word.

local WHOLE = 1000000
local SKEW = 60000000

-- Why a message whose time has come must be buried instead of delivered, or nil.
local function overdue(row, held, queue, now)
  local final = queue.final == '1'
  if final and row.deadline and row.deadline <= now then
    return 'expired'
  end
  if queue.max_age and row.born + queue.max_age <= now then
    return 'expired'
  end
  if final and held then
    return 'lost'
  end
  if queue.max_attempts and row.tries >= queue.max_attempts then
    return 'exhausted'
  end
  return nil
end

-- When a lease ends: at the deadline at the latest, unless that has passed.
local function lease_end(now, lease, deadline)
  if deadline and now < deadline and deadline < now + lease then
    return deadline
  end
  return now + lease
end

-- The whole part of a * b / c, exact though a * b needs more than the 53 bits that a number has.
local function proportion(a, b, c)
  local whole, rest, digits = 0, 0, {}
  while b > 0 do
    table.insert(digits, 1, b % 1000)
    b = math.floor(b / 1000)
  end
  for _, digit in ipairs(digits) do
    local value = rest * 1000 + a * digit
    whole = whole * 1000 + math.floor(value / c)
    rest = value % c
  end
  return whole
end

-- A queue's bucket as it is now: its room in millionths of a message, and when that was.
local function refilled(queue, now)
  local full, period = queue.rate_limit * WHOLE, queue.rate_period
  local room, at = tonumber(queue.room), tonumber(queue.filled)
  if not room or at > now + period + SKEW then
    return full, now
  end
  local passed = math.max(0, now - at)
  if passed >= period then
    return full, now
  end
  return math.min(full, room + proportion(passed, full, period)), math.max(at, now)
end

-- How many messages may go: all that are wanted, if the queue has no rate.
local function room_for(queue, wanted, now)
  if not queue.rate_limit then
    return wanted
  end
  local room = refilled(queue, now)
  return math.min(wanted, math.floor(room / WHOLE))
end

local function spend(queue, count, now)
  if queue.rate_limit and count > 0 then
    local room, at = refilled(queue, now)
    queue.room, queue.filled = text(room - count * WHOLE), text(at)
    call('HSET', PREFIX .. 'q:' .. queue.id, 'room', queue.room, 'filled', queue.filled)
  end
end
