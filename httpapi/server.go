package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/icebergrest"
	"github.com/icecore-catalog/icecore/httpapi/management"
	"github.com/icecore-catalog/icecore/httpapi/middleware"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// Defaults of [Deps].
const (
	DefaultMaxBody = 64 << 20 // bytes
	DefaultTimeout = 55 * time.Second
)

// Deps are what the HTTP side needs from the outside. Fields are required
// unless they say otherwise.
type Deps struct {
	Commands   *commands.Service
	Queries    *queries.Service
	Authorizer authz.Authorizer // for /metrics; commands and queries have their own
	IDs        ids.Source
	Clock      clock.Clock
	Log        *slog.Logger

	// Jobs is the console of jobs, below [JobsRoot]; nil serves none.
	Jobs http.Handler
	// Metrics serves GET /metrics.
	Metrics http.Handler
	// Ready says why the server should get no traffic, nil if it should.
	Ready func(ctx context.Context) error
	// Observer counts requests; nil counts nothing.
	Observer middleware.Observer
	// DiscardReports says that metrics reports are not kept.
	DiscardReports bool
	// Origins are those whose pages may use the server from a browser.
	Origins middleware.Origins
	// Counter counts requests by warehouse; nil counts nothing.
	Counter middleware.Counter
	// TracerProvider opens a span for each request; nil traces nothing.
	TracerProvider trace.TracerProvider

	// Version is the version of this build, e.g. "0.1.0".
	Version string
	// AuthzBackend names the authorizer in GET /management/v1/info, e.g.
	// "allow-all".
	AuthzBackend string
	// DefaultWarehouse answers GET /v1/config without a warehouse; if empty,
	// that is a 400.
	DefaultWarehouse string
	// MaxBody bounds a request body, in bytes; 0 means [DefaultMaxBody].
	MaxBody int64
	// Timeout bounds a request; 0 means [DefaultTimeout], which stays below the
	// 60 s after which most proxies give up (iceberg-rest 2.10).
	Timeout time.Duration
	// IdempotencyLifetime is how long a key is remembered at least, as told to
	// clients, and must be what the commands were given; 0 means
	// [commands.DefaultIdempotencyLifetime].
	IdempotencyLifetime time.Duration
	// ProbesOnly leaves all out but the probes, for an instance that runs jobs
	// and answers no client.
	ProbesOnly bool
}

// New returns the handler of the whole server: Iceberg REST below /catalog/v1,
// Lakekeeper's management API below /management/v1, and the probes.
func New(deps Deps) http.Handler {
	deps = deps.withDefaults()
	render := failures{log: deps.Log}.write
	router := newRouter(render)
	for _, g := range groups(deps) {
		router.add(g.root, g.routes)
	}
	return middleware.Chain(router,
		middleware.Trace(deps.TracerProvider),
		middleware.Identify(deps.IDs),
		middleware.Observe(deps.Log, deps.Clock, deps.Observer),
		middleware.Count(deps.Counter),
		middleware.CORS(deps.Origins), // outside of all that answers with an error
		middleware.Recover(render),
		middleware.Limit(deps.MaxBody, deps.Timeout, render),
	)
}

func (deps Deps) withDefaults() Deps {
	if deps.MaxBody == 0 {
		deps.MaxBody = DefaultMaxBody
	}
	if deps.Timeout == 0 {
		deps.Timeout = DefaultTimeout
	}
	if deps.IdempotencyLifetime == 0 {
		deps.IdempotencyLifetime = commands.DefaultIdempotencyLifetime
	}
	return deps
}

// group is a set of routes below one root.
type group struct {
	root   string
	routes []wire.Route
}

// groups returns all that is served.
func groups(deps Deps) []group {
	if deps.ProbesOnly {
		return []group{{"", probes{deps}.routes()}}
	}
	iceberg := icebergrest.New(icebergrest.Deps{
		Commands:            deps.Commands,
		Queries:             deps.Queries,
		DefaultWarehouse:    deps.DefaultWarehouse,
		MaxBody:             deps.MaxBody,
		DiscardReports:      deps.DiscardReports,
		IdempotencyLifetime: deps.IdempotencyLifetime,
	})
	return []group{
		{catalogRoot, iceberg.Routes()},
		{managementRoot, management.New(management.Deps{
			Commands:     deps.Commands,
			Queries:      deps.Queries,
			MaxBody:      deps.MaxBody,
			Version:      deps.Version,
			AuthzBackend: deps.AuthzBackend,
			ErrorModel:   errorModel,
		}).Routes()},
		{"", probes{deps}.routes()},
		{"", jobs{deps}.routes()},
		{catalogRoot, iceberg.OwnRoutes()},
	}
}

func unescapePath(escaped string) (string, error) {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return "", &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the path holds an invalid escape", Cause: err}
	}
	return path, nil
}
