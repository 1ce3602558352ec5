package commands_test

import (
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/queries"
)

// loadAll are the options of a plain load.
var loadAll = queries.LoadOptions{}

var allowAll = allowall.Authorizer{}
