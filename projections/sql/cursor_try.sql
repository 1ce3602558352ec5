-- What stood in the way may be gone: try at once.
UPDATE publish.destination SET failures = 0, retry_after = NULL, halted_at = NULL
 WHERE destination_id = $1
