package icebergrest

import (
	"net/http"
	"strings"

	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

const delegationHeader = "X-Iceberg-Access-Delegation"

// loadTable is GET …/tables/{table}: 304 if the client holds the current
// state, else the stored document in the middle of LoadTableResult.
func (a *API) loadTable(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, name, err := tableOf(r)
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	snapshots, err := q.String("snapshots")
	if err != nil {
		return err
	}
	tags := wire.EntityTags(r.Header)
	table, err := a.deps.Queries.LoadTable(r.Context(), wire.Actor(r), warehouse, queries.Identifier{Namespace: levels, Name: name}, queries.LoadOptions{
		IfNoneMatch: tags,
		Snapshots:   strings.ToLower(snapshots), // its values come in any letter case, as names do
		Delegation:  delegation(r.Header),
		AcceptGzip:  wire.AcceptsGzip(r.Header),
	})
	if err != nil {
		return err
	}
	h := w.Header()
	// Each caller has his own answer, and even that is asked for anew: who may
	// load a table, and what is in it, is known to this server alone (law 4).
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Authorization, "+delegationHeader)
	if table.NotModified || wire.MatchesETag(tags, table.ETag) {
		h.Add("Vary", "Accept-Encoding")
		wire.NotModified(w, table.ETag)
		return nil
	}
	wire.SetETag(h, table.ETag)
	answer := wire.Answer{
		Before:   beforeDocument(table.Pointer),
		Document: table.Document.Plain(),
		After:    afterDocument(table.Config),
	}
	if packed := table.Document.Packed(); packed != nil {
		answer.Packed = packed
	}
	answer.Write(w, r)
	return nil
}

// delegation reads the forms of access that the client can use, in its order.
func delegation(h http.Header) []string {
	var forms []string
	for _, line := range h.Values(delegationHeader) {
		for form := range strings.SplitSeq(line, ",") {
			if form = strings.TrimSpace(form); form != "" {
				forms = append(forms, form)
			}
		}
	}
	return forms
}
