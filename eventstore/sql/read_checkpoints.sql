-- Checkpoints over the sizes from $1 to $2.
SELECT epoch, size, root, note FROM es.checkpoint WHERE size BETWEEN $1 AND $2 ORDER BY size, epoch
