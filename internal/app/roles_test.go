package app

import (
	"testing"
)

func TestRolesAreTheKnownWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		want  roles
		fails bool
	}{
		{[]string{"api", "worker"}, roles{api: true, worker: true}, false},
		{[]string{"worker"}, roles{worker: true}, false},
		{[]string{"api"}, roles{api: true}, false},
		{nil, roles{}, true},
		{[]string{"api", "works"}, roles{}, true},
	} {
		got, err := rolesOf(c.words)
		if (err != nil) != c.fails || !c.fails && got != c.want {
			t.Errorf("%v: %+v, %v", c.words, got, err)
		}
	}
}
