package pgtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestDatabasesAreSeparate(t *testing.T) {
	for i := range 6 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			db := pgtest.New(t)
			t.Log("made in", time.Since(start))
			if _, err := db.Owner.Exec(t.Context(), "CREATE TABLE only_here (n int)"); err != nil {
				t.Fatal(err)
			}
			var user string
			if err := db.App.QueryRow(t.Context(), "SELECT current_user").Scan(&user); err != nil {
				t.Fatal(err)
			}
			if user != "icecore_app" {
				t.Fatalf("App works as %s", user)
			}
		})
	}
}
