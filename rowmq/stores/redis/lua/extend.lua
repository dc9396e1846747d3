#!lua flags=allow-oom
--! keys seqs queues writing rules life
-- Let leases end that long from now.
-- KEYS[1] prefix
-- ARGV[1] now or '', [2] lease; then for each receipt 3: 'receipt' or 'claim', seq or name, token
-- Result: for each the new end, or '' where the receipt is lost.

local now, lease = clock(ARGV[1]), tonumber(ARGV[2])

local function extend(seq, token)
  local row = holding(seq, token, now)
  if not row then
    return ''
  end
  row.at = lease_end(now, lease, row.deadline)
  save(row)
  place(row)
  return text(row.at)
end

local function extend_claim(name, token)
  local claim = call('HGET', PREFIX .. 'claims', name)
  if not claim or call('HGET', PREFIX .. 'c:' .. claim, 'tok') ~= token then
    return ''
  end
  for _, seq in ipairs(call('LRANGE', PREFIX .. 'c:' .. claim .. ':seqs', 0, -1)) do
    extend(seq, token)
  end
  return text(now + lease)
end

local seqs, results = {}, {}
for start = 3, #ARGV, 3 do
  table.insert(seqs, ARGV[start] == 'receipt' and ARGV[start + 1] or nil)
end
load_rows(seqs)
for start = 3, #ARGV, 3 do
  local act = ARGV[start] == 'claim' and extend_claim or extend
  table.insert(results, act(ARGV[start + 1], ARGV[start + 2]))
end
write_all()
return results
