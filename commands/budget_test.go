package commands_test

import (
	"fmt"
	"testing"

	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

// Design 11: a load is one flight to PostgreSQL, a commit two.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	flights := &kit.Flights{}
	// One connection, so that every statement is prepared after the first time;
	// and no saver, whose writes are beside the requests.
	k := kit.New(t, kit.Setup{Conns: 1, Flights: flights, NoSaver: true})
	k.Namespace("db")
	k.Table("db", "t")
	k.Table("db", "u")
	head := map[string]int64{}
	appendTo := func(name string) commands.CommitTable {
		id := head[name] + 1
		return k.Change(kit.At("db", name), kit.Head(id-1), kit.Append(id, id-1, id))
	}
	tag := ""
	n := 0
	cases := []struct {
		name string
		want int64
		run  func() error
	}{
		{"load", 1, func() error {
			got, err := k.Load(kit.At("db", "t"), queries.LoadOptions{AcceptGzip: true})
			tag = got.ETag
			return err
		}},
		{"load, not modified", 1, func() error {
			got, err := k.Load(kit.At("db", "t"), queries.LoadOptions{IfNoneMatch: []string{tag}})
			if err == nil && !got.NotModified {
				return fmt.Errorf("modified")
			}
			return err
		}},
		{"table exists", 1, func() error {
			return k.Queries.TableExists(t.Context(), k.Call().Actor, k.Warehouse, queries.Identifier(kit.At("db", "t")))
		}},
		{"list", 2, func() error {
			_, err := k.Queries.ListTables(t.Context(), k.Call().Actor, k.Warehouse, []string{"db"}, queries.Page{})
			return err
		}},
		{"commit", 2, func() error {
			_, err := k.Commands.CommitTable(t.Context(), k.Call(), appendTo("t"))
			head["t"]++
			return err
		}},
		{"commit with an idempotency key", 2, func() error {
			_, err := k.Commands.CommitTable(t.Context(), k.Keyed(k.IDs.New(), 1), appendTo("t"))
			head["t"]++
			return err
		}},
		{"transaction of two tables", 2, func() error {
			err := k.Commands.CommitTransaction(t.Context(), k.Call(), commands.CommitTransaction{
				Warehouse: k.Warehouse, Changes: []commands.CommitTable{appendTo("t"), appendTo("u")},
			})
			head["t"]++
			head["u"]++
			return err
		}},
		{"commit of nothing", 1, func() error {
			_, err := k.Commit(kit.At("db", "t"), "", "")
			return err
		}},
		{"create table", 2, func() error {
			n++
			_, err := k.Create("db", fmt.Sprint("c", n), "")
			return err
		}},
		{"rename table", 2, func() error {
			return rename(k, kit.At("db", fmt.Sprint("c", n)), kit.At("db", fmt.Sprint("r", n)))
		}},
		{"drop table, with its claims", 3, func() error {
			return drop(k, kit.At("db", fmt.Sprint("r", n)))
		}},
		{"create view", 2, func() error { return second(createView(k, "db", fmt.Sprint("v", n), "")) }},
		{"load view", 1, func() error { return second(loadView(k, kit.At("db", fmt.Sprint("v", n)))) }},
		{"replace view", 2, func() error {
			return second(commitView(k, kit.At("db", fmt.Sprint("v", n)), "", replaceBy(viewVersion(2, "spark", "select 2"))))
		}},
		{"replace view by itself", 1, func() error {
			return second(commitView(k, kit.At("db", fmt.Sprint("v", n)), "", replaceBy(viewVersion(2, "spark", "select 2"))))
		}},
		{"rename view", 2, func() error {
			return renameView(k, kit.At("db", fmt.Sprint("v", n)), kit.At("db", fmt.Sprint("w", n)))
		}},
		{"drop view, with its claims", 3, func() error { return dropView(k, kit.At("db", fmt.Sprint("w", n))) }},
		{"create namespace", 2, func() error { return createNamespace(k, nil, fmt.Sprint("n", n)) }},
		{"drop namespace", 2, func() error { return dropNamespace(k, fmt.Sprint("n", n)) }},
	}
	for round := range 2 { // the first prepares the statements
		for _, c := range cases {
			flights.Count()
			if err := c.run(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got := flights.Count(); round > 0 && got != c.want {
				t.Errorf("%s: %d flights, want %d", c.name, got, c.want)
			}
		}
	}
}

// Behind a load balancer the other instance committed last: what this one
// remembers is wrong, and a load is one round trip all the same.
func TestALoadAfterAnotherInstancesCommitIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	flights := &kit.Flights{}
	k := kit.New(t, kit.Setup{Conns: 1, Flights: flights, NoSaver: true})
	k.Namespace("db")
	k.Table("db", "t")
	other := kit.New(t, kit.Setup{Share: k})
	for id := range int64(3) {
		if _, err := other.Commit(kit.At("db", "t"), kit.Head(id), kit.Append(id+1, id, id+1)); err != nil {
			t.Fatal(err)
		}
		flights.Count() // from here on
		got, err := k.Load(kit.At("db", "t"), loadAll)
		if err != nil {
			t.Fatal(err)
		}
		if current, _ := kit.Document(t, got.Document.Plain())["current-snapshot-id"].(float64); int64(current) != id+1 {
			t.Errorf("the load shows snapshot %v", current)
		}
		if n := flights.Count(); n != 1 && id > 0 { // the first prepares its statement
			t.Errorf("%d round trips", n)
		}
	}
}
