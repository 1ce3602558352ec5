package eventstore

import (
	"golang.org/x/mod/sumdb/note"
)

func withOwnKey(verifiers []note.Verifier, signer note.Signer) ([]note.Verifier, error) {
	_ = signer
	return verifiers, nil
}
