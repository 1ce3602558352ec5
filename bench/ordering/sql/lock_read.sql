SELECT position, stream, version FROM o.ordered WHERE position > $1 ORDER BY position LIMIT 1000
