-- Queues: their settings as this script finds them, and who is to be woken when it ends.

local NUMBERS = {
  'max_attempts', 'lease', 'delay', 'retention', 'max_age', 'max_length', 'rate_limit', 'rate_period',
}
local known = {}
local stirred = {}

local function queue_of(id)
  local queue = known[id]
  if not queue then
    local fields = call('HGETALL', PREFIX .. 'q:' .. id)
    queue = { id = id }
    for place = 1, #fields, 2 do
      queue[fields[place]] = fields[place + 1]
    end
    for _, name in ipairs(NUMBERS) do
      queue[name] = tonumber(queue[name])
    end
    known[id] = queue
  end
  return queue
end

local function queue_named(name)
  local id = call('HGET', PREFIX .. 'queues', name)
  return id and queue_of(id) or nil
end

local function stir(queue)
  stirred[queue] = true
end

-- A hint to whoever waits; an account that may not publish must not stop what was done.
local function wake()
  for queue in pairs(stirred) do
    redis.pcall('PUBLISH', PREFIX .. 'wake', queue)
  end
end
