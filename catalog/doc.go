// Package catalog is the domain of Icecore: identifiers and their folding,
// entities and their events, the error model, and the pure rules by which a
// command decides. It does no I/O and imports nothing but iceberg, fold and
// ids; whatever a rule needs to know is handed in as a fact.
package catalog
