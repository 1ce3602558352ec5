package oracle

import (
	"regexp"
	"strconv"
	"strings"
)

// The sides of a difference.
const (
	icecore   = "icecore"
	icebergGo = "iceberg-go"
	both      = "both" // a matter of the clock or of order that means nothing
)

// known is a difference that is meant to be.
type known struct {
	id    string
	right string
	why   string

	// refusedBy and text describe a commit that one side alone refuses.
	refusedBy, text string
	// path describes a place in the documents.
	path string
	// when narrows either.
	when func(s *step, d difference) bool
}

func refused(s *step, side, text string) *known {
	for i := range knownDifferences {
		k := &knownDifferences[i]
		if k.refusedBy == side && regexp.MustCompile(k.text).MatchString(text) && (k.when == nil || k.when(s, difference{})) {
			return k
		}
	}
	return nil
}

func differs(s *step, d difference) *known {
	for i := range knownDifferences {
		k := &knownDifferences[i]
		if k.path != "" && regexp.MustCompile(k.path).MatchString(d.path) && (k.when == nil || k.when(s, d)) {
			return k
		}
	}
	return nil
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func oursEmptyTheirsAbsent(_ *step, d difference) bool { return isEmpty(d.ours) && d.theirs == absent }

func theirsEmptyOursAbsent(_ *step, d difference) bool { return isEmpty(d.theirs) && d.ours == absent }

func updatesContain(action string) func(*step, difference) bool {
	return func(s *step, _ difference) bool { return strings.Contains(s.updates, `"`+action+`"`) }
}

var knownDifferences = []known{
	{id: "empty lists", right: icecore, path: `^(refs|snapshots|statistics|partition-statistics|snapshot-log|metadata-log|partition-spec|properties)$`,
		when: oursEmptyTheirsAbsent, why: "Java prints empty lists and maps; some clients reject a document without them"},
	{id: "current-snapshot-id when none", right: icecore, path: `^current-snapshot-id$`,
		when: func(_ *step, d difference) bool { return d.theirs == absent || d.theirs == nil },
		why:  "Java prints -1 in v1 and v2 and null in v3"},
	{id: "identifier-field-ids", right: icecore, path: `identifier-field-ids$`, when: theirsEmptyOursAbsent,
		why: "Java prints the member only when there are identifier fields; icecore keeps what the client sent"},
	{id: "last-updated-ms", right: icecore, path: `^last-updated-ms$`,
		why: "icecore takes the catalog's clock, iceberg-go the base's time or a snapshot's, which is a client's clock"},
	{id: "v1 sequence numbers", right: icecore, path: `^snapshots\[\d+\]\.sequence-number$`,
		when: func(_ *step, d difference) bool { return d.ours == absent && show(d.theirs) == "0" },
		why:  "Java doesn't print a sequence number of 0: v1 has none"},
	{id: "schema ids of clients", right: icecore, path: `(^|\.)(current-schema-id|schema-id)$|^schemas$`, when: updatesContain("add-schema"),
		why: "a server ignores the client's schema id and takes the next one"},
	{id: "no-op requests", right: icecore, path: `^(metadata-log|snapshot-log)`,
		when: func(s *step, _ difference) bool { return s.ours == s.base },
		why:  "a request that changes nothing writes no new document, hence no log entry"},
	{id: "removing an absent ref", right: icecore, refusedBy: icebergGo, text: `snapshot ref not found: `,
		why: "two concurrent replaces both remove main; the second must not fail (compatibility kit)"},
	{id: "removing the current snapshot", right: icecore, refusedBy: icebergGo, text: `current snapshot cannot be removed`,
		why: "Java drops the refs that point at it, main included"},
	{id: "transform and type", right: icecore, refusedBy: icecore, text: `^Cannot create day partition sourced from data`,
		why: "a day of a string does not exist"},
	{id: "encryption keys below v3", right: icecore, refusedBy: icebergGo, text: `encryption keys are only supported for format version 3`,
		why: "Java has no version check"},
	{id: "time of a rollback", right: both, path: `^snapshot-log\[\d+\]\.timestamp-ms$`, when: near,
		why: "an old snapshot is logged at the time of the commit, and each side has its clock"},
	{id: "order id of an unsorted order", right: icecore, refusedBy: icebergGo, text: `sort order ID \d+ requires at least one sort field`,
		why: "order ids of clients are hints; the unsorted order has id 0 whatever they send"},
	{id: "next-row-id after a gap", right: icecore, path: `^next-row-id$`,
		when: func(s *step, d difference) bool {
			return s.ours.NextRowID() > s.base.NextRowID() && updatesContain("add-snapshot")(s, d)
		},
		why: "row ids up to first-row-id + added-rows are used, also when first-row-id left a gap"},
	{id: "last-sequence-number of a stale first snapshot", right: icecore, path: `^last-sequence-number$`,
		when: func(_ *step, d difference) bool { return number(d.ours) > number(d.theirs) },
		why:  "iceberg-go lowers it; it cannot read the document again when an older snapshot has a higher number"},
	{id: "negative sequence numbers", right: icecore, refusedBy: icecore, text: `^Invalid sequence number: -`,
		why: "sequence numbers start at 0"},
	{id: "dropped partition source", right: icecore, refusedBy: icecore, text: `^Cannot find source column for partition field`,
		why: "Java refuses it when it builds; readers of the table would fail"},
	{id: "later updates by a client's schema id", right: icecore, refusedBy: icecore,
		text: `^Cannot (remove the current schema|set current schema to unknown schema)`, when: updatesContain("add-schema"),
		why: "the request's own schema got the next id, not the client's"},
	{id: "later updates by a client's schema id, the other way", right: icecore, refusedBy: icebergGo,
		text: `can't (remove current schema|set current schema)`, when: updatesContain("add-schema"),
		why: "as above"},
	{id: "row ids after a gap", right: icecore, refusedBy: icecore, text: `first-row-id is behind table next-row-id`, when: updatesContain("add-snapshot"),
		why: "a snapshot before it in the request left a gap; see next-row-id after a gap"},
	{id: "statistics of a snapshot that is not there", right: icecore, path: `^(statistics|partition-statistics)`, when: updatesContain("remove-snapshots"),
		why: "removing an unknown snapshot is ignored as a whole in Java; iceberg-go drops statistics by the id alone"},
	{id: "intermediate snapshot when none is current", right: icecore, path: `^snapshot-log$`, when: updatesContain("remove-snapshot-ref"),
		why: "a snapshot that was added, made current and left again in one request never was history; iceberg-go looks only when another is current"},
	{id: "equal spec under another id", right: icecore, path: `^(partition-specs|default-spec-id|last-partition-id)$`, when: updatesContain("add-spec"),
		why: "Java reuses a spec with equal fields; iceberg-go compares ids as well and adds it again"},
	{id: "equal spec under another id in v1", right: icecore, refusedBy: icebergGo, text: `v1 constraint: partition field IDs are not sequential`, when: updatesContain("add-spec"),
		why: "a spec with equal fields is reused before its ids are looked at"},
	{id: "unknown members of the document", right: icecore, path: `(^|\.)future$`, why: "iceberg-go drops what it does not know; a newer client's data would be lost"},
	{id: "key-id of a snapshot", right: icecore, path: `^snapshots\[\d+\]\.key-id$`, why: "without it an encrypted table is unreadable"},
	{id: "main as a tag", right: icecore, refusedBy: icecore, text: `^Cannot set main to a tag`, why: "main is a branch by the table specification"},
	{id: "a ref changes its type", right: icecore, refusedBy: icecore, text: `^Cannot change the type of ref`,
		why: "Java's client refuses it; writers of the branch would lose it"},
	{id: "retention of zero", right: icecore, refusedBy: icecore, text: `must be greater than 0`, why: "Java refuses it; iceberg-go drops the value silently"},
	{id: "identifier fields", right: icecore, refusedBy: icecore, text: `^Cannot add field`, why: "an identifier field is required and no float (table specification)"},
	{id: "another uuid", right: icecore, refusedBy: icecore, text: `^Cannot reassign the UUID of a table`, why: "the REST specification calls it unsafe; requirements of other clients would fail for ever"},
	{id: "reserved properties", right: icecore, refusedBy: icebergGo, text: `can't set reserved property`, why: "old clients send them; they are dropped, and format-version upgrades"},
	{id: "slash at the end of a location", right: icecore, path: `^location$`, why: "Java strips it; two spellings of one place would be two claims"},
	{id: "action in capitals", right: icecore, refusedBy: icebergGo, text: `unknown update action`, why: "Java lower-cases the discriminator"},
	{id: "clock of a snapshot", right: icecore, refusedBy: icebergGo, text: `invalid snapshot timestamp`,
		why: "writers' clocks differ; the server's clock and the log rule, not a refusal"},
	{id: "encryption keys below v3 in a document", right: icecore, refusedBy: "reader", text: `v3-only field 'encryption-keys' present in v[12]`,
		why: "Java prints and reads them in every version"},
	{id: "table-uuid that is none", right: icecore, refusedBy: icebergGo, text: `(?i)uuid`, why: "any text is compared as it is; old catalogs wrote others"},
	{id: "table-uuid that is none, in a document", right: icecore, refusedBy: "reader", text: `(?i)uuid`, why: "as above"},
	{id: "unknown transform as default", right: icecore, refusedBy: icecore, text: `^Cannot use unknown transform`,
		why: "writers could not write by it; old specs may hold it"},
	{id: "change of the encryption key", right: icecore, refusedBy: icecore, text: `^Cannot change the encryption key of a table`,
		why: "files under the old key would become unreadable; the Java and Hive clients hold the same rule"},
	{id: "snapshot without manifest list", right: icecore, refusedBy: icecore, text: `manifest-list`, why: "v2 demands it (table specification)"},
}

func number(v any) int64 {
	n, err := strconv.ParseInt(show(v), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// near allows for the two sides' clocks.
func near(_ *step, d difference) bool {
	a, b := number(d.ours), number(d.theirs)
	return a > 0 && b > 0 && max(a-b, b-a) < 60_000
}
