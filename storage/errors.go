package storage

import (
	"errors"
	"fmt"
)

// The kinds of failure that callers branch on, with [errors.Is]. What matches
// none of them is a fault of the store: the outcome of a write is then unknown
// and the object may or may not be there.
var (
	// ErrNotFound: there is no object at the location.
	ErrNotFound = errors.New("no such object")
	// ErrExists: PutIfAbsent found an object. Nothing was changed.
	ErrExists = errors.New("object exists already")
	// ErrOutside: the location lies outside the store's root or outside the
	// claims of the object, by its text or through a link. Nothing was touched.
	ErrOutside = errors.New("location is outside of what may be touched")
	// ErrInvalid: the text is no location of this kind of store.
	ErrInvalid = errors.New("invalid location")
	// ErrTooLarge: the object holds more bytes than the caller's limit.
	ErrTooLarge = errors.New("object is larger than the limit")
	// ErrNoSpace: the store has no room left (disk full, quota, file size
	// limit). Nothing was left behind.
	ErrNoSpace = errors.New("no space left in the store")
)

// Error is the failure of one operation at one location. It matches, with
// [errors.Is], both its kind and its cause.
type Error struct {
	Op       string // "put", "get", "stat", "list", "delete", "parse", "open"
	Location string // as the caller gave it
	Kind     error  // one of the variables above, nil when none fits
	Cause    error  // what the store said, may be nil
}

// Error implements error.
func (e *Error) Error() string {
	text := "storage: " + e.Op + " " + e.Location
	if e.Kind != nil {
		text += ": " + e.Kind.Error()
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	return errs
}

// fail returns an error whose operation and location are filled in further up.
func fail(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Cause: fmt.Errorf(format, args...)}
}
