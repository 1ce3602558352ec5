// Package authztest holds the conformance suite that every authorizer passes
// and the authorizers that tests of other packages stand behind the port:
// DenyAll, Failing, and a Recorder that notes what was asked.
package authztest
