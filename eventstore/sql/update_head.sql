-- Moves the head and tells the listeners the new size, once for each batch.
UPDATE es.log_head
   SET size = $1, seen = $2, holes = $3, cand_n = $4, cand_xid = $5, epoch = $6, system_identifier = $7,
       timeline = $8, frontier = $9, root = $10, logtime = $11, state = $12, reason = $13, halted_at = $14
