package postgres

// Disown gives up a data folder without stopping its server, as the death of
// its owner does where the kernel does not tell children of it.
func Disown(s *Server) { s.release() }
