package app

import "github.com/icecore-catalog/icecore/commands"

// destinationKinds are the kinds of destinations that this program publishes to,
// each with what refuses settings that it could not work with.
func destinationKinds() commands.DestinationKinds {
	return commands.DestinationKinds{}
}
