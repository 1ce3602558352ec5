-- Tasks that are called off. A purge is, by its own next run, which frees the
-- locations when nothing deletes any more: that comes at once. Others end here, or
-- where they run.
UPDATE river.river_job
   SET state = CASE WHEN state = 'running' THEN state
                    WHEN kind = 'purge' THEN 'available'
                    ELSE 'cancelled' END::river.river_job_state,
       scheduled_at = CASE WHEN state = 'running' THEN scheduled_at ELSE clock_timestamp() END,
       finalized_at = CASE WHEN state <> 'running' AND kind <> 'purge' THEN clock_timestamp() END,
       max_attempts = CASE WHEN kind = 'purge' AND attempt >= max_attempts THEN least(attempt + $3::int, 32767)::smallint ELSE max_attempts END,
       metadata = CASE WHEN kind = 'purge' THEN metadata || jsonb_build_object('cancel', $2::text::jsonb, 'stop', true)
                       ELSE metadata || jsonb_build_object('cancel_attempted_at', clock_timestamp()) END
 WHERE id = ANY ($1)
   AND (state IN ('available', 'pending', 'scheduled', 'retryable', 'running') OR kind = 'purge' AND state = 'discarded')
   AND NOT metadata ? 'cancel'
