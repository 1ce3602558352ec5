// Package queries holds one file for each read of the catalog. A query
// resolves its facts from the primary in the request itself, decides the
// rights, and hands back stored bytes; it never parses a metadata document
// (laws 4 and 7).
package queries
