-- Whether the last deletion under a lease that is settled was long enough ago.
SELECT expires_at <= clock_timestamp() - $2::bigint * interval '1 microsecond'
  FROM ops.purge_lease WHERE drop_event = $1 AND report IS NOT NULL
