-- How many messages of a queue are in each state, by what their sorted sets count without being read.

-- {ready, scheduled, leased, done, dead, the longest that one has been ready, or ''}
local function counted(queue, now)
  local waiting, ready, first = 0, 0, nil
  local lines = { 'parked' }
  for priority = 0, 9 do
    table.insert(lines, 'due:' .. priority)
  end
  for _, line in ipairs(lines) do
    local key = queue_key(queue.id, line)
    local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if head then
      first = math.min(first or tonumber(head), tonumber(head))
      waiting, ready = waiting + call('ZCARD', key), ready + call('ZCOUNT', key, '-inf', now)
    end
  end
  local leased = call('ZCOUNT', queue_key(queue.id, 'held'), '(' .. text(now), '+inf')
  local age = first and first <= now and text(now - first) or ''
  local done, dead = count_of(queue.id, 'done'), count_of(queue.id, 'dead')
  return { ready, waiting - ready - leased, leased, done, dead, age }
end
