// Package storage is the door to the object store: it reads, writes, lists
// and deletes the files of tables, and it knows how locations are spelled and
// which of them are the same place. Local files are the first kind of store;
// others join behind the same port and must pass the suite in storagetest.
//
// # Invariants
//
//   - Put returns after the object and its name are durable: file data, the
//     directory entry, and the entry of every directory that had to be made.
//   - Nobody ever sees half an object under its final name, not after a crash
//     of the process either.
//   - A [Store] touches nothing outside the root of its [Profile], and that
//     root lies below a root that the configuration allows. What [Scope]
//     returns touches nothing outside the claims of one object (design, law 5).
//     Both hold against links that are planted while an operation runs.
//   - One place has one [Key], however its location was spelled.
//   - A location is taken literally: nothing in it is percent-decoded. Hadoop's
//     Path (Spark, Flink, Iceberg Java) and PyArrow (PyIceberg) take a file
//     location so, and a store that decoded would read other files than they
//     wrote. The two disagree about '?' and '#' (PyIceberg cuts a location
//     there), and some engines do decode %2F or %2E: [Location.Claimable]
//     therefore refuses such locations for tables, while single objects may
//     have any name, for the cleaner must be able to delete what lies there.
package storage
