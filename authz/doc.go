// Package authz holds the port by which every command and query asks for
// permission: facts of Resolve in, verdict out (design 8). It reads nothing
// by itself. allowall answers yes to everyone and is chosen only in plain
// words (law 8).
package authz
