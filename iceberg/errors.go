package iceberg

import (
	"errors"
	"fmt"
)

// Kind classifies an [Error] by what a server answers.
type Kind int

// The kinds of failure (iceberg-rest spec, IcebergErrorResponse; the type
// names are those the Java client maps).
const (
	// BadRequest is malformed JSON, a missing member or an unknown update or
	// requirement: 400 BadRequestException.
	BadRequest Kind = iota + 1
	// IllegalArgument is a violated argument rule: 400 IllegalArgumentException.
	IllegalArgument
	// Validation is a violated metadata rule: 400 ValidationException.
	Validation
	// CommitFailed is a failed requirement: 409 CommitFailedException. The
	// server must not retry it.
	CommitFailed
	// StaleCommit is a snapshot whose sequence number or first row id was
	// overtaken: 409 CommitFailedException with a text that makes the client
	// refresh and rewrite. Before Iceberg 1.11 it was a 400 and killed
	// concurrent writers.
	StaleCommit
	// Unsupported is a document of a format version this package cannot read.
	Unsupported
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case BadRequest:
		return "BadRequest"
	case IllegalArgument:
		return "IllegalArgument"
	case Validation:
		return "Validation"
	case CommitFailed:
		return "CommitFailed"
	case StaleCommit:
		return "StaleCommit"
	case Unsupported:
		return "Unsupported"
	default:
		return fmt.Sprintf("Kind(%d)", int(k))
	}
}

// Error is the error type of this package. Message is written for the client.
type Error struct {
	Kind    Kind
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// KindOf returns the kind of the first [Error] in err's chain, or 0.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error { return errorf(BadRequest, format, args...) }
func illegal(format string, args ...any) error    { return errorf(IllegalArgument, format, args...) }
func invalid(format string, args ...any) error    { return errorf(Validation, format, args...) }

// requirementFailed prefixes the text that the compatibility kit compares.
func requirementFailed(format string, args ...any) error {
	return errorf(CommitFailed, "Requirement failed: "+format, args...)
}

// stale is Java's RetryableValidationException as its REST handler words it.
func stale(format string, args ...any) error {
	return errorf(StaleCommit, "Validation failed, please retry: "+format, args...)
}

// within puts a context in front of the message and keeps the kind.
func within(context string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Kind: e.Kind, Message: context + ": " + e.Message}
	}
	return fmt.Errorf("%s: %w", context, err)
}
