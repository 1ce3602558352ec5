package commands_test

import "github.com/icecore-catalog/icecore/queries"

// loadAll are the options of a plain load.
var loadAll = queries.LoadOptions{}
