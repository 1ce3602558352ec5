package queries

import (
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

func TestPageTokenOpensOnlyForItsCallerAndQuery(t *testing.T) {
	t.Parallel()
	parent := ids.MustParse("00000000-0000-7000-8000-00000000000a")
	tk, other := newTokens([]byte("a secret of the server, 32 bytes")), newTokens([]byte("another"))
	bound := bind(authz.Anonymous, "tables", parent)
	token := tk.seal("hidden_name", bound)
	if strings.Contains(token, "hidden") {
		t.Fatalf("token %q shows the name", token)
	}
	if got, err := tk.open(token, bound); err != nil || got != "hidden_name" {
		t.Fatalf("opened as %q, %v", got, err)
	}
	if tk.seal("hidden_name", bound) == token {
		t.Error("equal names give equal tokens: the names can be compared")
	}
	flipped := "A" + token[1:]
	if token[0] == 'A' {
		flipped = "B" + token[1:]
	}
	cases := map[string]struct {
		tokens tokens
		token  string
		bound  []byte
	}{
		"of another caller": {tk, token, bind(authz.System, "tables", parent)},
		"of another list":   {tk, token, bind(authz.Anonymous, "namespaces", parent)},
		"of another parent": {tk, token, bind(authz.Anonymous, "tables", ids.Nil)},
		"of another server": {other, token, bound},
		"changed":           {tk, flipped, bound},
		"cut short":         {tk, token[:10], bound},
		"not base64":        {tk, "%%%", bound},
		"a plain name":      {tk, "hidden_name", bound},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := c.tokens.open(c.token, c.bound); catalog.KindOf(err) != catalog.BadRequest {
				t.Errorf("opened as %q, %v", got, err)
			}
		})
	}
}

func FuzzPageToken(f *testing.F) {
	tk := newTokens([]byte("secret"))
	bound := bind(authz.Anonymous, "tables", ids.Nil)
	f.Add(tk.seal("x", bound))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := tk.open(token, bound); err != nil && catalog.KindOf(err) != catalog.BadRequest {
			t.Fatal(err)
		}
	})
}
