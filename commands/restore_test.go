package commands_test

import (
	"testing"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

// A database that is set back to an older state under a running instance: the
// version numbers come again, the marks never do, so nothing cached about the
// lost state is served or built upon.
func TestNothingCachedSurvivesARestore(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "t")
	kept, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	super := k.DB.Connect(t, pgtest.RoleSuper)
	for _, sql := range []string{
		"CREATE TABLE public.stream AS SELECT * FROM es.stream",
		"CREATE TABLE public.event AS SELECT event_id FROM es.event",
		"CREATE TABLE public.commit AS SELECT commit_id FROM es.commit",
	} {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	lost, err := k.Commit(kit.At("db", "t"), kit.Head(1), kit.Append(2, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Load(kit.At("db", "t"), queries.LoadOptions{AcceptGzip: true}); err != nil {
		t.Fatal(err)
	}

	for _, sql := range []string{
		"UPDATE es.stream s SET version = o.version, pointer = o.pointer, mark = o.mark FROM public.stream o WHERE o.stream_id = s.stream_id",
		"DELETE FROM es.event WHERE event_id NOT IN (SELECT event_id FROM public.event)",
		"DELETE FROM es.commit WHERE commit_id NOT IN (SELECT commit_id FROM public.commit)",
		"DROP TABLE public.stream, public.event, public.commit",
	} {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}

	got, err := k.Load(kit.At("db", "t"), queries.LoadOptions{IfNoneMatch: []string{lost.ETag}})
	if err != nil || got.NotModified || got.Mark != kept.Mark || got.Pointer != kept.Pointer || string(got.Document.Plain()) != string(kept.Document) {
		t.Fatalf("after the restore: %+v, %v", got, err)
	}
	// The same version number, with another content.
	now, err := k.Commit(kit.At("db", "t"), kit.Head(1), kit.Append(3, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	got, err = k.Load(kit.At("db", "t"), queries.LoadOptions{IfNoneMatch: []string{lost.ETag, kept.ETag}})
	if err != nil || got.NotModified || got.Mark != now.Mark || got.ETag == lost.ETag {
		t.Fatalf("after the next commit: %+v, %v", got, err)
	}
	if id := kit.Document(t, got.Document.Plain())["current-snapshot-id"]; id != float64(3) {
		t.Errorf("the lost state came back: snapshot %v", id)
	}
}
