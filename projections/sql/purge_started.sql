-- What was announced when the purge of an object started. Each partition finds
-- the stream by its own index.
SELECT type, data_schema, data
  FROM es.event
 WHERE stream_id = $1 AND type IN ('dev.icecore.table.purge-started', 'dev.icecore.view.purge-started')
 ORDER BY version DESC
 LIMIT 1
