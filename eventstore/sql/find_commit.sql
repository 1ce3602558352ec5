-- Number of a commit by one of its events: $1 floor, $2 event id, $3 commit id.
SELECT append_seq FROM es.event WHERE append_seq >= $1 AND event_id = $2 AND commit_id = $3
