package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// namespaceOf reads the warehouse and the namespace of a route.
func namespaceOf(r *http.Request) (ids.ID, []string, error) {
	warehouse, err := wire.Warehouse(r)
	if err != nil {
		return ids.Nil, nil, err
	}
	levels, err := wire.Namespace(r)
	return warehouse, levels, err
}

// tableOf reads the warehouse, and the namespace and name of the table, of a route.
func tableOf(r *http.Request) (warehouse ids.ID, levels []string, name string, err error) {
	if warehouse, err = wire.Warehouse(r); err != nil {
		return ids.Nil, nil, "", err
	}
	levels, name, err = wire.Table(r)
	return warehouse, levels, name, err
}

// viewOf reads the warehouse and the view of a route.
func viewOf(r *http.Request) (ids.ID, commands.Identifier, error) {
	warehouse, err := wire.Warehouse(r)
	if err != nil {
		return ids.Nil, commands.Identifier{}, err
	}
	levels, name, err := wire.View(r)
	return warehouse, commands.Identifier{Namespace: levels, Name: name}, err
}
