-- Takes the ids of commits whose fate is in doubt; waits for an in-doubt twin
-- (design 3.3).
INSERT INTO es.commit (commit_id, outcome, seq_floor, claimed_at)
SELECT id, 'aborted', 0, clock_timestamp() FROM unnest($1::uuid[]) AS id ORDER BY id
ON CONFLICT DO NOTHING
