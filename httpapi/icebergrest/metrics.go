package icebergrest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

const (
	// maxReport bounds a metrics report, in bytes. Java's are a few KiB.
	maxReport = 1 << 20
	// maxReportType bounds the name of its type, in bytes.
	maxReportType = 128
)

// reportMetrics is POST …/tables/{table}/metrics: 204 as soon as the report was
// taken. Reports of a type that is not known are kept all the same.
func (a *API) reportMetrics(w http.ResponseWriter, r *http.Request) error {
	warehouse, levels, name, err := tableOf(r)
	if err != nil {
		return err
	}
	body, err := wire.ReadBody(r, min(a.deps.MaxBody, maxReport))
	if err != nil {
		return err
	}
	object, err := wire.ParseObject(body)
	if err != nil {
		return err
	}
	in := commands.ReportMetrics{Warehouse: warehouse, Table: commands.Identifier{Namespace: levels, Name: name}, Report: json.RawMessage(body)}
	if in.Type, in.Snapshot, err = readReport(object); err != nil {
		return err
	}
	call, err := wire.Call(r, body)
	if err != nil {
		return err
	}
	if err := a.deps.Commands.ReportMetrics(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// readReport checks a report leniently: its type has to be there, the members
// that the specification gives to a type have to be of their kind if they are
// there (spec, ScanReport and CommitReport), and the rest is the client's.
func readReport(object wire.Object) (kind string, snapshot *int64, err error) {
	if kind, err = object.RequiredString("report-type"); err != nil {
		return "", nil, err
	}
	kind = strings.ToLower(kind)
	if kind == "" || len(kind) > maxReportType {
		return "", nil, &catalog.Error{Kind: catalog.BadRequest, Message: fmt.Sprintf("Malformed request: report-type must have 1 to %d bytes", maxReportType)}
	}
	scan, commit := kind == "scan-report", kind == "commit-report"
	if snapshot, err = long(object, "snapshot-id"); err != nil {
		if !scan && !commit {
			return kind, nil, nil // who knows what it means there
		}
		return "", nil, err
	}
	if !scan && !commit {
		return kind, snapshot, nil
	}
	checks := []func() error{
		func() error { _, _, err := object.String("table-name"); return err },
		func() error { _, err := object.StringMap("metadata"); return err },
		func() error { return checkMetrics(object) },
	}
	if scan {
		checks = append(checks,
			func() error { _, err := long(object, "schema-id"); return err },
			func() error { _, err := object.Ints("projected-field-ids"); return err },
			func() error { _, _, err := object.Strings("projected-field-names"); return err })
	} else {
		checks = append(checks,
			func() error { _, err := long(object, "sequence-number"); return err },
			func() error { _, _, err := object.String("operation"); return err })
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return "", nil, err
		}
	}
	return kind, snapshot, nil
}

// checkMetrics checks that each metric is a counter or a timer, or at least an
// object, as those of newer clients will be.
func checkMetrics(object wire.Object) error {
	metrics, _, err := object.Object("metrics")
	if err != nil {
		return err
	}
	for _, name := range metrics.Names() {
		metric, sent, err := metrics.Object(name)
		if err != nil {
			return err
		}
		if !sent {
			continue
		}
		for _, number := range []string{"value", "count", "total-duration"} {
			if _, err := long(metric, number); err != nil {
				return err
			}
		}
		for _, unit := range []string{"unit", "time-unit"} {
			if _, _, err := metric.String(unit); err != nil {
				return err
			}
		}
	}
	return nil
}

// long reads a 64-bit number without going through a float; nil if it is absent
// or null.
func long(object wire.Object, name string) (*int64, error) {
	raw := object.Raw(name)
	if raw == nil {
		return nil, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: " + name + " must be a whole number of 64 bits"}
	}
	return &n, nil
}
