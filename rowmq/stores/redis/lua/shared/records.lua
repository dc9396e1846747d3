-- A message as history shows it.

-- The row with all its texts, packed; nil while it is only kept for a topic's first queue.
local function record(row, now)
  if not row or not row.q then
    return nil
  end
  local body = not row.gone and call('GET', PREFIX .. 'b:' .. row.seq)
  local function number(name)
    return row[name] and text(row[name]) or ''
  end
  return packed({
    row.seq, row.id, queue_of(row.q).name or '', state_of(row, now), body and '=' .. body or '', row.bin or '',
    row.meta or '', row.pri, row.grp or '', row.key or '', number('born'), number('sched'), number('deadline'),
    number('at'), number('tries'), number('gets'), row.by or '', number('since'), number('ended'),
    row.why or '', row.src or '', row.result and '=' .. row.result or '',
  })
end
