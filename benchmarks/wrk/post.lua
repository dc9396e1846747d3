-- The same POST again and again: a message of about 200 bytes.
wrk.method = "POST"
wrk.body = '{"to":"ada@example.com","text":"' .. string.rep("x", 160) .. '"}'
wrk.headers["content-type"] = "application/json"
