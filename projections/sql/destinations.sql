-- Destinations with their guards and cursors, by id or by name; all of them when
-- both are null. There are few. One whose cursor is missing stands at its start.
SELECT d.destination_id, d.name, d.kind, d.settings, d.filter, d.on_refusal, d.paused, d.start_epoch, d.start_position, g.version,
       coalesce(c.epoch, d.start_epoch), coalesce(c.position, d.start_position), c.event,
       coalesce(c.failures, 0), c.retry_after, coalesce(c.last_error, ''), c.last_error_at, coalesce(c.halted_at, 0), coalesce(c.published, 0),
       (SELECT count(*) FROM publish.parked p WHERE p.destination_id = d.destination_id),
       h.size, e.logtime, clock_timestamp()
  FROM rm.destination d
  JOIN es.stream g ON g.stream_id = d.destination_id
 CROSS JOIN es.log_head h
  LEFT JOIN publish.destination c ON c.destination_id = d.destination_id
  LEFT JOIN es.log_entry e ON e.position = coalesce(c.position, d.start_position) + 1
 WHERE ($1::uuid IS NULL OR d.destination_id = $1)
   AND ($2::text IS NULL OR d.name_fold1 = $2)
 ORDER BY d.name COLLATE "C", d.destination_id
