package httpapi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outcome is a dry run's answer as one text: what failed and what was skipped.
func outcomeOf(t *testing.T, got answer) (text string) {
	t.Helper()
	doc := decoded(t, expect(t, got, 200).body)
	list, _ := doc["checks"].([]any)
	if len(list) != 13 {
		t.Errorf("%d checks: %s", len(list), got.body)
	}
	failed := 0
	for _, one := range list {
		check := one.(map[string]any)
		switch check["status"] {
		case "failed":
			failed++
			model, _ := check["error"].(map[string]any)
			text += fmt.Sprint(" !", check["name"], ":", model["type"])
		case "skipped":
			if check["reason"] == nil {
				t.Errorf("%v", check)
			}
		case "passed":
			text += fmt.Sprint(" ", check["name"])
		default:
			t.Errorf("%v", check)
		}
	}
	if doc["valid"] != (failed == 0) {
		t.Errorf("valid is %v: %s", doc["valid"], got.body)
	}
	return strings.TrimSpace(text)
}

func TestDryRunsTellEveryCheckAndMakeNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	file := filepath.Join(s.root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const works = "storage-client-initialized lakekeeper-read-write cleanup"
	before := len(expect(t, s.do("GET", "/management/v1/warehouse", ""), 200).body)
	profile := func(root string) string { return `"storage-profile":{"type":"file","root":"file://` + root + `"}` }
	for body, want := range map[string]string{
		`{"warehouse-name":"new",` + profile(s.root+"/new") + `}`: "profile-well-formed warehouse-name-valid format-version-policy-consistent managed-by-allowed " + works,
		`{"warehouse-name":"DEMO",` + profile(s.root+"/new") + `,"default-format-version":2,"allowed-format-versions":[1],"managed-by":"instance-admin"}`: "profile-well-formed " +
			"!warehouse-name-valid:WarehouseAlreadyExists !format-version-policy-consistent:BadRequestException !managed-by-allowed:UnsupportedOperationException " + works,
		`{"warehouse-name":"","storage-profile":{"type":"s3","bucket":"b"}}`: "!profile-well-formed:BadRequestException !warehouse-name-valid:BadRequestException " +
			"format-version-policy-consistent managed-by-allowed",
		`{"warehouse-name":"new",` + profile(file) + `}`:   "profile-well-formed warehouse-name-valid format-version-policy-consistent managed-by-allowed storage-client-initialized !lakekeeper-read-write:BadRequestException",
		`{"warehouse-name":"new",` + profile("/etc") + `}`: "profile-well-formed warehouse-name-valid format-version-policy-consistent managed-by-allowed !storage-client-initialized:BadRequestException",
		`{"warehouse-name":"new",` + profile(s.root+"/new") + `,"storage-credential":{"type":"s3"}}`: "profile-well-formed warehouse-name-valid format-version-policy-consistent managed-by-allowed " +
			"!storage-client-initialized:UnsupportedOperationException lakekeeper-read-write cleanup",
	} {
		if got := outcomeOf(t, s.do("POST", "/management/v1/warehouse-creation-validation", body)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", body, got, want)
		}
	}
	for path, c := range map[string][2]string{
		"validate-access":              {"", "spec-mutable " + works},
		"validate-profile":             {`{` + profile(s.root+"/demo") + `}`, "profile-well-formed profile-compatible spec-mutable " + works},
		"validate-profile?elsewhere":   {`{` + profile(s.root+"/elsewhere") + `}`, "profile-well-formed !profile-compatible:BadRequestException spec-mutable " + works},
		"validate-profile?unreadable":  {`{"storage-profile":{"type":"tape"}}`, "!profile-well-formed:BadRequestException spec-mutable"},
		"validate-credential":          {`{"new-storage-credential":null}`, "spec-mutable " + works},
		"validate-credential?with-one": {`{"new-storage-credential":{"type":"s3"}}`, "spec-mutable !storage-client-initialized:UnsupportedOperationException lakekeeper-read-write cleanup"},
	} {
		if got := outcomeOf(t, s.do("POST", s.warehouse()+"/storage/"+path, c[0])); got != c[1] {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, c[1])
		}
	}
	// A store that is gone is found by trying it out.
	if err := os.Rename(s.root+"/demo", s.root+"/away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.root+"/demo", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := outcomeOf(t, s.do("POST", s.warehouse()+"/storage/validate-access", "")); got != "spec-mutable storage-client-initialized !lakekeeper-read-write:BadRequestException" {
		t.Error(got)
	}
	if after := len(expect(t, s.do("GET", "/management/v1/warehouse", ""), 200).body); after != before {
		t.Error("a dry run made something")
	}
	refused(t, s.do("POST", "/management/v1/warehouse-creation-validation", `{}`), 400, "BadRequestException")
	refused(t, s.do("POST", "/management/v1/warehouse-creation-validation", `{"warehouse-name":"x",`+profile(s.root)+`}`, "X-Project-Id", "no"), 404, "ProjectNotFound")
	refused(t, s.do("POST", s.warehouse()+"/storage/validate-profile", `{}`), 400, "BadRequestException")
	refused(t, s.do("POST", "/management/v1/warehouse/0190a000-0000-7000-8000-00000000000f/storage/validate-access", ""), 404, "NoSuchWarehouseException")
}
