package logfile

import (
	"github.com/icecore-catalog/icecore/publishers"
)

// Settings say where to.
type Settings struct {
	File         string // below the folder; empty is the standard output
	MaxFileBytes int64
}

// ParseSettings reads the settings of a destination of this kind.
func ParseSettings(settings map[string]string) (Settings, error) {
	r := publishers.NewReader(settings)
	target := r.Word("target", "stdout", "file")
	s := Settings{MaxFileBytes: int64(r.Number("max-file-bytes", 64<<20, 1<<10, 1<<40))}
	r.Number(publishers.SettingMaxMessageBytes, 0, 1<<10, 1<<30) // the relay's
	switch {
	case target == "file":
		if s.File = r.Required("file"); s.File != "" && publishers.CheckSecretName(s.File) != nil {
			r.Fail("file", "is the plain name of a file (letters, digits, '-', '_' and '.', not at the beginning)")
		}
	case r.Has("file"):
		r.Fail("file", "needs target=file")
	}
	return s, r.Err()
}
