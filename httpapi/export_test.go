package httpapi

import "github.com/icecore-catalog/icecore/httpapi/wire"

// Routes returns all routes of a server with their whole templates.
func Routes(deps Deps) []wire.Route {
	var all []wire.Route
	for _, g := range groups(deps.withDefaults()) {
		for _, route := range g.routes {
			route.Template = g.root + route.Template
			all = append(all, route)
		}
	}
	return all
}
