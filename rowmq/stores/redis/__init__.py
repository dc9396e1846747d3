"""The store on Redis 7: every atomic step is one Lua script, in ``lua/``, put together by ``scripts.py``.

The key map. Every key begins with ``{prefix}:``, one hash tag, so that one script may touch them all. Names,
ids and tokens are values; the parts of a key in angle brackets are numbers that we gave. Times are whole
microseconds; a ``seq`` is padded with zeros to 16 digits, so that texts sort as numbers do. ::

    last_seq last_qid last_tid last_gid last_cid last_birth last_version
                              string   counters
    layout                    string   the version of this map
    ids                       hash     message id -> seq
    m:<seq>                   string   a message as it was said, written once (values.py, said)
    l:<seq>                   string   where it is in its life (shared/writing.lua, packed_row): born sched
                                         deadline at since ended tries gets pri parked filed gone(its body was
                                         dropped) id of(queue pushed to) grp q(queue) tok by src why gid group
                                         state
    f:<seq>                   list     its failed attempts
    r:<seq>                   string   the result of its ack
    queues                    hash     queue name -> id
    q:<id>                    hash     name, version, settings, and the bucket of its rate (room, filled)
    q:<id>:open done dead     zset     its messages, pending and finished: the pages of seqs that have any
    q:<id>:open:<page>        string   the seqs of a page, named by its first, as bits (shared/seqs.lua)
    q:<id>:done:<page>        string   the same
    q:<id>:dead:<page>        string   the same
    q:<id>:counts             hash     open, done, dead -> how many there are
    q:<id>:due:<priority>     zset     pending messages, heads of groups among them, by when they are due
    q:<id>:parked             zset     those behind the head of their group, by when they would be due
    q:<id>:held               zset     those with a token, by the end of the lease
    q:<id>:retried            zset     those without one that were attempted, by when they are due
    q:<id>:lettered           zset     pending ones that came from another queue as dead letters, by seq
    q:<id>:deadlines          zset     pending ones that have a deadline, by it
    q:<id>:ended died filed   zset     finished ones by when; the dead of them; those that are archived
    q:<id>:failed             zset     its newest failures, each a seq and a place in f:<seq>, by number
    q:<id>:groups             hash     group name -> gid, while the group has a head
    g:<gid>                   zset     the parked messages of a group, by seq
    q:<id>:keys               hash     dedup key -> until when, seq, id
    q:<id>:keys:ends          zset     dedup keys by until when
    q:<id>:births alive       zset     consumers in order of birth; by alive until
    q:<id>:born               hash     consumer -> born at
    q:<id>:claims             set      the ids of its named claims
    q:<id>:happened           hash     in the last minutes: a slot and what -> which minute, how often
    q:<id>:samples:<span>     zset     samples of minutes and quarters of an hour, by when they began
    sampled                   string   until when minutes have been sampled
    claims                    hash     claim name -> cid
    claims:born               zset     claims by when they were made
    c:<cid>                   hash     a named claim: name q tok runs
    c:<cid>:seqs              list     what it got
    topics                    hash     topic name -> tid
    t:<tid>:queues            set      the ids of the queues bound to it
    t:<tid>:kept              zset     what was published while none was, by seq
    t:<tid>:first_bound_at    string   when that changed
    schedules leads           hash     name -> everything about it
    ledger                    list     what was deleted
    dropped                   set      ids of dropped queues that still have messages to erase
    wake                      channel  the id of a queue in which something happened
"""

from rowmq.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
