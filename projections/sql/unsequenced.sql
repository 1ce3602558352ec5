-- Events that this snapshot sees and the sequencer has not numbered: behind
-- what it has met, and in its holes.
SELECT event_id FROM es.event WHERE append_seq > $1
UNION ALL
SELECT event_id FROM es.event WHERE append_seq = ANY ($2::bigint[])
