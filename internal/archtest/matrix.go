package archtest

import "strings"

// Module is the path of the module whose rules are held.
const Module = "github.com/icecore-catalog/icecore"

// edge is one allowed import between two rooms, and why it is needed.
type edge struct{ to, why string }

// matrix is the import law of design 2: a room (the longest matching folder
// prefix) may import itself, what is below it, commons, and these.
var matrix = map[string][]edge{
	// The pure core.
	"iceberg": {},
	"catalog": {
		{"iceberg", "table rules are decided on Iceberg metadata"},
	},

	// The log knows none of ours.
	"eventstore": {},

	// Read models, rights, storage.
	"projections": {
		{"catalog", "events in, names folded, locations keyed"},
		{"eventstore", "projectors queue writes of a commit; rebuild reads the log"},
	},
	"authz": {
		{"catalog", "a refusal is a catalog.Error"},
	},
	"storage": {
		{"catalog", "location keys, and failures as catalog.Error"},
	},

	// One file a mutation, one file a read.
	"commands": {
		{"iceberg", "requirements and updates are applied to metadata"},
		{"catalog", "decide and evolve"},
		{"eventstore", "append"},
		{"projections", "Resolve"},
		{"authz", "each command asks for its right"},
		{"storage", "the metadata file is written before the pointer moves"},
		{"authz/subject", "Resolve's facts as an authorizer's"},
		{"internal/documents", "the parsed base of a commit, and its successor for the next load"},
		{"internal/reports", "metrics reports are handed on to be stored"},
	},
	"queries": {
		{"iceberg", "snapshots are filtered by a byte splitter"},
		{"catalog", "names and failures"},
		{"eventstore", "history is read from the log"},
		{"projections", "Resolve and lists"},
		{"authz", "each query asks for its right"},
		{"storage", "cold documents come from the store"},
		{"authz/subject", "Resolve's facts as an authorizer's"},
		{"internal/documents", "the bytes that a load splices"},
		{"internal/reports", "stored metrics reports are listed"},
	},
	"authz/subject": {
		{"authz", "makes its facts"},
		{"catalog", "entities"},
		{"projections", "from those of Resolve"},
	},
	"internal/documents": {
		{"iceberg", "a document is kept parsed for the next commit"},
		{"catalog", "failures"},
		{"projections", "stored forms and the facts they belong to"},
		{"storage", "cold documents come from the store"},
	},

	"internal/reports": {},

	// What is done later.
	"workers": {
		{"commands", "the mutations that jobs bring about, and the port by which tasks are controlled"},
		{"queries", "the port by which tasks are shown"},
		{"authz", "who called a purge off"},
		{"iceberg", "manifests say what a purge reaches"},
		{"catalog", "events that ask for jobs, and those that jobs report in"},
		{"eventstore", "a job is inserted in the commit that asks for it"},
		{"storage", "files are deleted below the claims of their object"},
		{"internal/documents", "the metadata file of what was dropped"},
		{"projections", "what waits to be done is read from read models"},
		{"publishers", "a job drains a destination"},
	},

	// Where the log goes to.
	"publishers": {
		{"eventstore", "the log is read, and entries become CloudEvents"},
	},

	"publishers/connect": {
		{"publishers", "makes its transports"}, {"publishers/jetstream", "a kind"}, {"publishers/kafka", "a kind"}, {"publishers/logfile", "a kind"}, {"publishers/webhook", "a kind"},
	},

	// The edge.
	"httpapi": {
		{"commands", "mutating routes"},
		{"queries", "reading routes"},
		{"iceberg", "requests and answers are in the spec's terms"},
		{"catalog", "identifiers, and the error model that is rendered here"},
		{"authz", "the actor of a request"},
		{"eventstore", "reading the log for the events routes"},
	},

	// Wiring and running.
	"internal/app": {
		{"iceberg", "wiring"}, {"catalog", "wiring"}, {"eventstore", "wiring"},
		{"projections", "wiring"}, {"authz", "wiring"}, {"storage", "wiring"},
		{"commands", "wiring"}, {"queries", "wiring"}, {"workers", "wiring"}, {"publishers", "wiring"}, {"publishers/connect", "wiring"}, {"internal/nats", "dev runs its own NATS"}, {"internal/usage", "wiring"}, {"internal/documents", "wiring"}, {"internal/reports", "wiring"}, {"httpapi", "wiring"},
		{"internal/config", "wiring"}, {"internal/telemetry", "wiring"},
		{"internal/postgres", "dev runs its own PostgreSQL"},
	},
	"internal/config":    {},
	"internal/telemetry": {{"eventstore", "the log's figures become metrics"}, {"publishers", "the relay's figures become metrics"}},
	"internal/postgres":  {},
	"internal/nats":      {},
	"cmd": {
		{"internal/app", "a subcommand is an argument list over internal/app"},
		{"internal/config", "settings are read before anything is wired"},
		{"catalog", "log prints events by their type"},
		{"eventstore", "log and verify read the log"},
		{"bench/hammer", "the load tool is a subcommand"},
	},

	// Embedded SQL and schemas; imports nothing.
	"schema": {},

	// Tests of the whole, and tools. They may look at everything.
	"e2e":                  {{"*", "drives the whole"}},
	"bench":                {{"*", "measures the whole"}},
	"bench/hammer":         {{"bench/wire", "a lean Iceberg REST client"}},
	"bench/wire":           {},
	"internal/pgtest":      {{"*", "the test kit rebuilds and compares with the real parts"}},
	"internal/servicetest": {{"*", "the test kit stands commands and queries on real parts"}},
	"internal/archtest":    {},

	"publishers/kafka/kafkatest": {{"*", "the test kit stands transports before real brokers that misbehave"}},

	"internal/faultproxy": {},
	"internal/marked":     {},
	"internal/usage":      {{"catalog", "what can be a project's id"}},
	"internal/clock":      {},
	"internal/ids":        {},
}

// commons may be imported by every room.
var commons = map[string]string{
	"internal/clock": "time is injected everywhere",
	"internal/ids":   "identifiers are everyone's",
	"schema":         "embedded SQL and JSON Schemas",
}

// pure rooms import nothing but the standard library and what the matrix
// names, so that their rules can be read, fuzzed and replayed anywhere.
var pure = map[string]bool{"iceberg": true, "catalog": true}

// testKits are imported by tests alone, never by what ships.
var testKits = []string{"internal/pgtest", "internal/servicetest", "internal/archtest", "internal/faultproxy", "iceberg/manifest/manifesttest", "e2e"}

// door is where a third party comes in.
type door struct {
	module string
	rooms  []edge // that may import it, and what for
}

// doors: each third party has one door (design 2), and where there are more,
// each has its reason. A room that is not named may not import the module. Rooms
// are prefixes of the importing package.
var doors = []door{
	{"github.com/gorilla/mux", []edge{{"httpapi", "routing"}}},
	{"github.com/jackc/pgx/v5", []edge{
		{"eventstore", "the log's transactions, its pools and single connections"},
		{"projections", "read models written in the commit, Resolve, rebuild and compare"},
		{"queries", "lists, by statements of their own"},
		{"workers", "River works on a pool, and jobs are inserted in a commit"},
		{"publishers", "a destination's lease and place are rows beside the log"},
		{"schema", "migrations are applied over one connection"},
		{"internal/app", "pools are opened, and read-only questions asked, where all is wired"},
		{"internal/postgres", "what dev starts, and what serve finds, is asked what it is"},
		{"internal/reports", "metrics reports stand beside the log"},
		{"internal/usage", "counters of requests stand beside the log"},
		{"internal/telemetry", "a pool's figures become metrics"},
	}},
	{"github.com/riverqueue/river", []edge{{"workers", "jobs"}}},
	{"riverqueue.com/riverui", []edge{{"workers", "the console of jobs"}}},
	{"github.com/ThreeDotsLabs/watermill", []edge{{"publishers", "the port of destinations and its decorators"}, {"internal/app", "decorators are put together where all is wired"}}},
	{"github.com/nats-io/nats.go", []edge{{"publishers/jetstream", "NATS JetStream as a destination"}}},
	{"github.com/nats-io/nats-server/v2", []edge{{"internal/nats", "the server that dev and tests run in their own process"}}},
	{"github.com/IBM/sarama", []edge{{"publishers/kafka", "Kafka as a destination"}}},
	{"github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2", []edge{{"publishers/kafka", "CloudEvents in Kafka's binary mode"}}},
	{"github.com/cloudevents/sdk-go/v2", []edge{
		{"eventstore", "the envelope"},
		{"publishers", "wire encoding for brokers"},
		{"httpapi/events", "wire encoding for HTTP"},
	}},
	{"golang.org/x/mod", []edge{{"eventstore", "Merkle tree and signed notes"}}},
	{"golang.org/x/text", []edge{{"catalog", "Unicode normalisation under name folding"}}},
	{"github.com/santhosh-tekuri/jsonschema/v6", []edge{{"catalog/eventschema", "the codec's strict mode asks the payload's schema"}}},
	{"github.com/klauspost/compress", []edge{
		{"iceberg/manifest", "Avro files are compressed with snappy and zstd, which the standard library lacks"},
		{"projections/document", "the stored form of documents: a quarter of compress/flate's time"},
	}},
	{"github.com/prometheus", []edge{{"internal/telemetry", "metrics"}}},
	{"go.opentelemetry.io", []edge{
		{"internal/telemetry", "the exporter of traces"},
		{"httpapi", "a request opens a span"},
		{"publishers", "a batch opens a span"},
		{"internal/app", "wiring"},
	}},
	{"github.com/exaring/otelpgx", []edge{{"internal/app", "traces of SQL: connections are made with its tracer"}}},
	{"github.com/alecthomas/kong", []edge{{"cmd", "command line"}}},
	{"github.com/ulikunitz/xz", []edge{{"internal/postgres", "unpacking PostgreSQL"}}},
	{"golang.org/x/sys", []edge{
		{"internal", "process and file system calls"},
		{"storage", "files are opened below their root and nowhere else"},
	}},
	{"golang.org/x/sync", []edge{{"*", "errgroup and singleflight"}}},
}

// neverLinked must not be reachable from the server's binary: oracles and test
// libraries with large graphs.
var neverLinked = map[string]string{
	"github.com/apache/iceberg-go":                "the oracle of differential tests; parses and re-marshals",
	"github.com/apache/arrow-go":                  "comes with iceberg-go; 30 MB of it",
	"github.com/stretchr/testify":                 "test library",
	"github.com/testcontainers/testcontainers-go": "test library",
	"pgregory.net/rapid":                          "test library",
	"go.uber.org/goleak":                          "test library",
	"testing":                                     "registers flags and stays out of a server",
}

// room returns the room that a package of the module belongs to: the longest
// key of the matrix that is a folder prefix of it, or "" for none.
func room(pkg string) string {
	rel := strings.TrimPrefix(strings.TrimPrefix(pkg, Module), "/")
	best := ""
	for r := range matrix {
		if (rel == r || strings.HasPrefix(rel, r+"/")) && len(r) > len(best) {
			best = r
		}
	}
	return best
}

// within reports whether package path pkg is module or lies below it.
func within(pkg, module string) bool {
	return pkg == module || strings.HasPrefix(pkg, module+"/")
}

// allowed returns why from may import to, and whether it may.
func allowed(from, to string) (why string, ok bool) {
	if from == to {
		return "the same room", true
	}
	if why, ok := commons[to]; ok {
		return why, true
	}
	for _, e := range matrix[from] {
		if e.to == to || e.to == "*" {
			return e.why, true
		}
	}
	return "", false
}
