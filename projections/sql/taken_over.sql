-- Whether a stream's state ever came from elsewhere: by registration, anew or
-- over what was there. Each partition finds the stream by its own index.
SELECT EXISTS (SELECT FROM es.event
                WHERE stream_id = $1 AND type IN ('dev.icecore.table.registered', 'dev.icecore.view.registered'))
