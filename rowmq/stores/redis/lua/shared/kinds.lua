-- Rows that are alike in all but their ids and when they were pushed and are due, as those of one queue mostly are. What
-- becomes of the first of a kind becomes of all: their bytes are put together, and none is unpacked.

local sub = string.sub
local OWN, DUE, HEAD, ID = 16, 24, 82, 98 -- where born and sched end, what is before at, all numbers, and the id

-- The kind of a row, among those known. `change` makes the first row of a kind what all of them become, and returns
-- what is to be known of that kind; or it leaves the row as it is and returns nil: then each needs a look of its own.
local function kind_of(kinds, seq, blob, change)
  local name = sub(blob, OWN + 1, DUE) .. sub(blob, DUE + 9, HEAD) .. sub(blob, ID + 1)
  local kind = kinds[name]
  if kind == nil then
    local row = unpacked_row(seq, blob)
    kind = #row.id == ID - HEAD and change(row) or false
    if kind then
      row.packed = nil
      local new = packed_row(row)
      kind.head, kind.tail = sub(new, OWN + 1, HEAD), sub(new, ID + 1)
    else
      rows[seq] = row
    end
    kinds[name] = kind
  end
  return kind
end

-- Have a row become what its kind does.
local function become(kind, seq, blob)
  rewrite(seq, sub(blob, 1, OWN) .. kind.head .. sub(blob, HEAD + 1, ID) .. kind.tail)
end

-- The list of this name, made when it is first asked for.
local function list_of(lists, name)
  lists[name] = lists[name] or {}
  return lists[name]
end
