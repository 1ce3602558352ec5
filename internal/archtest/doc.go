// Package archtest holds the house rules of design 2 as data and as tests:
// which room may import which and why, which room is the door of each third
// party, what the server's binary is made of, that every package says what it
// is for, and that no file outgrows its reader.
//
// A rule that is in the way is changed here, in the same commit as the code
// that needs it, with its reason.
package archtest
