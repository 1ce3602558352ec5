package app

import (
	"github.com/icecore-catalog/icecore/commands"
	transports "github.com/icecore-catalog/icecore/publishers/connect"
)

// destinationKinds are the kinds of destinations that this program publishes to,
// each with what refuses settings that it could not work with.
func destinationKinds() commands.DestinationKinds { return transports.Kinds() }
