package app

import "runtime/debug"

// version is stamped by the build (-ldflags -X); empty in a plain go build.
var version string

// Version is the version of this program: the stamped one, or what the Go
// toolchain knows of the source.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
