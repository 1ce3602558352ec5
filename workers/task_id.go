package workers

import (
	"encoding/binary"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// taskPrefix marks the ids of tasks: a UUID of version 8, whose bits are ours. The
// job's number follows in its last 62 bits, so that ids and numbers lead to each
// other and are in one order.
var taskPrefix = ids.MustParse("1cec0000-0000-8000-8000-000000000000")

// TaskID is the id of a job as others see it.
func TaskID(job int64) (id ids.ID) {
	id = taskPrefix
	number := binary.BigEndian.Uint64(id[8:]) | uint64(job)&(1<<62-1)
	binary.BigEndian.PutUint64(id[8:], number)
	return id
}

// jobOf is the number of the job that an id names, and whether it names one.
func jobOf(id ids.ID) (job int64, ok bool) {
	number := binary.BigEndian.Uint64(id[8:])
	job = int64(number & (1<<62 - 1))
	return job, job > 0 && TaskID(job) == id
}
