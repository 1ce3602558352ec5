-- The event at which it halted is settled by a decision; the last error was
-- about it. No run can be at work on a destination that halted.
UPDATE publish.destination
   SET position = $2, epoch = $3, halted_at = NULL, failures = 0, retry_after = NULL, last_error = NULL, last_error_at = NULL
 WHERE destination_id = $1 AND halted_at = $2
