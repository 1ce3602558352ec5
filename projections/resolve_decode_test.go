package projections

import (
	"slices"
	"testing"
)

// A column of another form than the statement's is an error, never half a row.
func TestColumnsOfAnotherFormAreRefused(t *testing.T) {
	t.Parallel()
	sound := make([][]byte, oneColumns) // null wherever it may be
	sound[0] = make([]byte, 8)
	if err := new(resolveRow).decode(sound); err != nil {
		t.Fatal(err)
	}
	if err := new(resolveRow).decode(sound[1:]); err == nil {
		t.Error("a column is missing")
	}
	array := append(append([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 11, 134}, 0, 0, 0, 1, 0, 0, 0, 1), append([]byte{0, 0, 0, 16}, make([]byte, 16)...)...)
	for column, values := range map[int][][]byte{
		0:  {{}, make([]byte, 4)},                               // a time
		1:  {{}, make([]byte, 15), make([]byte, 17)},            // an id
		4:  {{}, array[:20+3], array[:len(array)-1], array[:8]}, // ids
		5:  {{}, {0, 0}},                                        // a truth
		6:  {{}},                                                // not asked for
		12: {make([]byte, 4)}, 15: {make([]byte, 8)}, 17: {{1}}, // numbers
	} {
		for _, value := range values {
			row := slices.Clone(sound)
			row[column] = value
			if err := new(resolveRow).decode(row); err == nil {
				t.Errorf("column %d as %v was taken", column, value)
			}
		}
	}
	sound[4] = array
	row := new(resolveRow)
	if err := row.decode(sound); err != nil || len(row.ancestors) != 1 {
		t.Errorf("%v, %v", row.ancestors, err)
	}
}
