-- Takes the id of a commit whose fate is in doubt; waits for an in-doubt twin
-- (design 3.3).
INSERT INTO es.commit (commit_id, outcome, seq_floor, claimed_at)
VALUES ($1, 'aborted', 0, clock_timestamp())
ON CONFLICT DO NOTHING
