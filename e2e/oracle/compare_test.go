package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// difference is one place where two documents are not the same.
type difference struct {
	path         string
	ours, theirs any // absent when a member is missing
}

type missing struct{}

var absent = missing{}

func (d difference) String() string {
	return fmt.Sprintf("%s: icecore %s, iceberg-go %s", d.path, show(d.ours), show(d.theirs))
}

func show(v any) string {
	if v == absent {
		return "absent"
	}
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// document decodes JSON with numbers as text, so that no id loses digits.
func document(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// compare lists the differences below path.
func compare(path string, ours, theirs any) []difference {
	var out []difference
	switch a := ours.(type) {
	case map[string]any:
		b, ok := theirs.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(a)) {
			if _, ok := b[key]; !ok {
				out = append(out, difference{join(path, key), a[key], absent})
				continue
			}
			out = append(out, compare(join(path, key), a[key], b[key])...)
		}
		for _, key := range slices.Sorted(maps.Keys(b)) {
			if _, ok := a[key]; !ok {
				out = append(out, difference{join(path, key), absent, b[key]})
			}
		}
		return out
	case []any:
		b, ok := theirs.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			out = append(out, compare(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])...)
		}
		return out
	default:
		if ours == theirs {
			return nil
		}
	}
	return []difference{{path, ours, theirs}}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
