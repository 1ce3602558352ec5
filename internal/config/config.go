package config

import "time"

// Config is every setting. Tags: env is the variable without ICECORE_,
// default is its text when it is not set, oneof lists the allowed words, min
// is the smallest number, size or duration, max the largest number, form is address (host:port) or url
// (http or https), doc says what it means. A field of type
// [Secret] may also be given as a file, by the variable with _FILE appended.
type Config struct {
	Database  Database
	HTTP      HTTP
	Auth      Auth
	Catalog   Catalog
	Log       Log
	Publish   Publish
	Jobs      Jobs
	Telemetry Telemetry
}

// Database says where the log and the read models are.
type Database struct {
	URL           Secret        `env:"DATABASE_URL" doc:"PostgreSQL 15 or newer, as the application role: a URL or key=value words as libpq reads them. This role owns nothing and can neither change nor delete events."`
	OwnerURL      Secret        `env:"DATABASE_OWNER_URL" doc:"The same database as the owner role, used by migrate and rebuild alone. serve does not need it and should not have it."`
	ReadPool      int           `env:"READ_POOL" default:"8" min:"1" max:"10000" doc:"Largest number of connections for reads. Reads that wait at the same moment share one statement, so few connections carry many clients."`
	AppendPool    int           `env:"APPEND_POOL" default:"16" min:"1" max:"10000" doc:"Largest number of connections for commits. More let more commits share one flush of the disk."`
	SharedCommits string        `env:"SHARED_COMMITS" default:"on" oneof:"on,off" doc:"on: plain commits of tables that wait at the same moment share a transaction, each with its own outcome. off: each commit has a transaction of its own."`
	AppendTimeout time.Duration `env:"APPEND_TIMEOUT" default:"10s" min:"100ms" doc:"How long the answer to a commit is waited for before its fate is settled by taking its id."`
	BurnTimeout   time.Duration `env:"BURN_TIMEOUT" default:"5s" min:"100ms" doc:"How long the fate of a commit is asked for after its answer was lost, before the client hears CommitStateUnknownException."`
}

// HTTP says how requests are served.
type HTTP struct {
	Listen         string        `env:"LISTEN" default:"127.0.0.1:8181" form:"address" doc:"Address and port to serve on. In a container: 0.0.0.0:8181."`
	MaxBody        Bytes         `env:"MAX_BODY" default:"64MiB" min:"1024" doc:"Largest request body; a longer one is refused with 413."`
	RequestTimeout time.Duration `env:"REQUEST_TIMEOUT" default:"55s" min:"1s" doc:"Longest time for one request, its body included. Below the 60 s after which most proxies give up, so that the client hears from the server what became of its request."`
	CORSOrigins    []string      `env:"CORS_ORIGINS" doc:"Origins, separated by commas, whose pages may use the server from a browser, such as https://console.example.com; * means every one. Empty: none. With ICECORE_AUTH=disabled every page of a listed origin may do everything that its visitor's machine can reach."`
	ShutdownGrace  time.Duration `env:"SHUTDOWN_GRACE" default:"30s" min:"0s" doc:"After a SIGTERM or SIGINT: how long running requests may still take. New ones are refused at once."`
}

// Auth says who may ask. Nothing configured means that serve does not start
// (law 8).
type Auth struct {
	Mode string `env:"AUTH" oneof:"disabled" doc:"disabled: everyone who reaches the port may do everything, as one anonymous actor. No other mode exists yet, and without a mode serve refuses to start."`
}

// Catalog holds what the catalog itself decides by.
type Catalog struct {
	DefaultWarehouse string        `env:"DEFAULT_WAREHOUSE" doc:"Name of the warehouse that a client gets which names none in GET /v1/config. Empty: such a client is refused with 400."`
	FileRoots        []string      `env:"FILE_ROOTS" doc:"Folders, separated by commas, below which warehouses on local or mounted file systems may lie. Empty: no such warehouse can be made or read."`
	DocumentCache    Bytes         `env:"DOCUMENT_CACHE" default:"256MiB" min:"1MiB" doc:"Memory for metadata documents. Each is kept under the mark of its table, so none is ever stale."`
	TokenSecret      Secret        `env:"TOKEN_SECRET" doc:"Seals page tokens, which hold the last name of a page; the same on all instances. Empty: derived from the id of the log, which keeps tokens opaque but is no secret from whoever reads the database."`
	MetricsReports   string        `env:"METRICS_REPORTS" default:"keep" oneof:"keep,discard" doc:"What becomes of the metrics reports that engines send after scans and commits. keep: they are stored beside the log and listed by the management API. discard: they are accepted and thrown away, and clients are asked to send none."`
	ReportRetention  time.Duration `env:"METRICS_REPORTS_RETENTION" default:"168h" min:"1m" doc:"How long metrics reports are stored. Older ones are removed every ten minutes, also when new ones are discarded."`
	ReportLimit      int           `env:"METRICS_REPORTS_LIMIT" default:"1000000" min:"1" doc:"How many metrics reports are stored at most, each of a few KiB. The oldest are removed first, every ten minutes."`
	ReportSize       Bytes         `env:"METRICS_REPORTS_SIZE" default:"4GiB" min:"1MiB" doc:"How large the stored metrics reports are together at most, before PostgreSQL packs them. The oldest are removed first, every ten minutes."`
	IdempotencyLife  time.Duration `env:"IDEMPOTENCY_LIFETIME" default:"30m" min:"1m" doc:"How long the answer to an Idempotency-Key is kept. Advertised to clients."`
}

// Log holds what the event log needs.
type Log struct {
	CheckpointKey       Secret        `env:"CHECKPOINT_KEY" doc:"Private key (signed-note form, PRIVATE+KEY+…) that signs checkpoints of the log. icecore log checkpoint-key makes one. Empty: checkpoints are not signed, and prove nothing to others."`
	CheckpointVerifiers []string      `env:"CHECKPOINT_VERIFIERS" doc:"Public keys of earlier signing keys, separated by commas, for verify. That of the current one is always among them."`
	CheckpointEvery     time.Duration `env:"CHECKPOINT_EVERY" default:"1m" min:"1s" doc:"How often a checkpoint is written while the log grows."`
	PartitionSize       int64         `env:"PARTITION_SIZE" default:"5000000" min:"1000" doc:"Numbers per partition of the event table. Applies to partitions made from now on."`
}

// Publish says what destinations of the event stream may use of this machine.
type Publish struct {
	Folder          string `env:"DESTINATION_FOLDER" doc:"Folder below which destinations of kind log write their files. Empty: they write to the standard output only."`
	Secrets         string `env:"SECRETS_DIR" doc:"Folder whose files are the secrets that settings of destinations name (…-secret), one a file, such as a mounted Kubernetes secret. Empty: destinations have no secrets."`
	PrivateWebhooks string `env:"PRIVATE_WEBHOOKS" default:"refuse" oneof:"refuse,allow" doc:"allow: destinations of kind webhook may post to private networks and to this machine, and without TLS. Whoever may make destinations reaches what this server reaches."`
	PublicURL       string `env:"PUBLIC_URL" form:"url" doc:"URL under which consumers of the event stream reach this server, e.g. https://catalog.example.com. An event that is too large for a destination refers to its data below it. Empty: the reference is the path alone."`
}

// Jobs says which part of the work an instance does, and how fast.
type Jobs struct {
	Roles      []string      `env:"ROLES" default:"api,worker" doc:"What this instance does, separated by commas: api answers requests; worker runs jobs, such as the deletion of purged tables' files. Every instance sequences the log and serves /health, /ready and /metrics. At least one instance has to be a worker."`
	CleanUp    string        `env:"CLEAN_UP" default:"on" oneof:"on,off" doc:"on: metadata files that are of no use any more are deleted: those of commits that failed, and those that fell out of the metadata log of tables with write.metadata.delete-after-commit.enabled. off: they stay. A copy of the database that works beside the original needs off."`
	UndoWindow time.Duration `env:"UNDO_WINDOW" default:"168h" min:"0s" doc:"How long the metadata files of former states are kept at least, in warehouses that do not say otherwise. A restore of the database to a point in time finds all files of that time within it."`
	PurgeRate  int           `env:"PURGE_RATE" default:"500" min:"1" doc:"Largest number of files a second that this instance deletes for tables and views that were dropped with purge, and in clean-ups."`
}

// Telemetry says what the server tells about itself.
type Telemetry struct {
	LogLevel     string `env:"LOG_LEVEL" default:"info" oneof:"debug,info,warn,error" doc:"Least level that is logged. debug logs each request."`
	LogFormat    string `env:"LOG_FORMAT" default:"json" oneof:"json,text" doc:"One JSON object a line, or text for people."`
	OTLPEndpoint string `env:"OTLP_ENDPOINT" form:"url" doc:"URL of an OpenTelemetry collector (OTLP over HTTP), e.g. http://localhost:4318. Empty: no traces are made. Headers and sampling obey the OTEL_… variables of OpenTelemetry."`
}
