// Package storagetest is what every kind of store has to pass: [Run] checks
// the promises of storage.Objects and storage.Store against a real store, of
// which it knows nothing but the port.
package storagetest
