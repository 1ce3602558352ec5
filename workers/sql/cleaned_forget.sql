-- What lives is looked at again long before: these objects are gone.
DELETE FROM ops.cleaned WHERE cleaned_at < clock_timestamp() - 90 * $1::bigint * interval '1 microsecond'
