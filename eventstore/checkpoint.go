package eventstore

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Checkpoint states that the first Size positions of a log hash to Root. Its
// signed form is a note (c2sp.org/tlog-checkpoint): three lines, origin, size
// and root in base64, then the signatures.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   [32]byte
}

// ErrNoKey means that the store was opened without a signing key.
var ErrNoKey = errors.New("no key to sign checkpoints is configured")

// Origin names a log and its epoch in checkpoints: "icecore/<log id>/<epoch>".
func Origin(log ids.ID, epoch int64) string {
	return fmt.Sprintf("icecore/%s/%d", log, epoch)
}

// NewSigningKey makes an Ed25519 key for checkpoints from a source of
// randomness, normally crypto/rand.Reader. The signing key is a secret; the
// verifier key is what auditors get.
func NewSigningKey(random io.Reader, name string) (signing, verifying string, err error) {
	return note.GenerateKey(random, name)
}

// text is the unsigned body.
func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// OpenCheckpoint checks the signatures of a note and returns what it states.
// At least one verifier must know a signature.
func OpenCheckpoint(signed []byte, verifiers note.Verifiers) (Checkpoint, error) {
	n, err := note.Open(signed, verifiers)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("open checkpoint: %w", err)
	}
	return parseCheckpoint(n.Text)
}

func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[len(lines)-1] != "" || lines[0] == "" {
		return Checkpoint{}, errors.New("parse checkpoint: it has not three lines")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return Checkpoint{}, errors.New("parse checkpoint: malformed size")
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != 32 {
		return Checkpoint{}, errors.New("parse checkpoint: malformed root")
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: [32]byte(root)}, nil
}

// Checkpoint signs the head of the log, keeps the note and returns it. When
// the head was signed before in its epoch, that note comes back. Without an
// anchor outside the database a checkpoint is no evidence (design 3.6).
func (s *Store) Checkpoint(ctx context.Context) ([]byte, error) {
	if s.signer == nil {
		return nil, ErrNoKey
	}
	head, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	c := Checkpoint{Origin: Origin(head.LogID, head.Epoch), Size: head.Size, Root: head.Root}
	signed, err := note.Sign(&note.Note{Text: c.text()}, s.signer)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	var kept string
	now := s.clock.Now().UTC().Truncate(time.Microsecond)
	err = s.pool.QueryRow(ctx, sqlKeepCheckpoint, head.Epoch, c.Size, c.Root[:], string(signed), now).Scan(&kept)
	if errors.Is(err, pgx.ErrNoRows) {
		// A twin kept one after this statement's snapshot.
		err = s.pool.QueryRow(ctx, sqlKeepCheckpoint, head.Epoch, c.Size, c.Root[:], string(signed), now).Scan(&kept)
	}
	if err != nil {
		return nil, fmt.Errorf("keep checkpoint: %w", err)
	}
	return []byte(kept), nil
}

// LatestCheckpoint returns the newest signed note, nil if there is none.
func (s *Store) LatestCheckpoint(ctx context.Context) ([]byte, error) {
	var kept string
	err := s.readPool.QueryRow(ctx, sqlLatestCheckpoint).Scan(&kept)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the latest checkpoint: %w", err)
	}
	return []byte(kept), nil
}

// Reasons why [New] refuses its keys. Neither text holds a key.
var (
	ErrSigningKey  = errors.New("the signing key cannot be used")
	ErrVerifierKey = errors.New("a verifier key is not a public key of a signer")
)

// signerOf reads a signing key and returns it with its own verifier.
func signerOf(key string) (note.Signer, note.Verifier, error) {
	signer, err := note.NewSigner(key)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: it is malformed", ErrSigningKey) // note's error may quote the key
	}
	// "PRIVATE+KEY+<name>+<hash>+<base64 of algorithm and seed>"
	encoded := key[strings.LastIndex(key, "+")+1:]
	if parts := strings.SplitN(key, "+", 5); len(parts) == 5 {
		encoded = parts[4]
	}
	seed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return nil, nil, fmt.Errorf("%w: it is not an Ed25519 key", ErrSigningKey)
	}
	public, _ := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	verifying, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: it has no verifier key", ErrSigningKey)
	}
	verifier, err := note.NewVerifier(verifying)
	return signer, verifier, err
}

// unknownSigner reports whether a note could not be opened only because no
// verifier knows its signers.
func unknownSigner(err error) bool {
	var unverified *note.UnverifiedNoteError
	return errors.As(err, &unverified)
}

// splitNote returns the text of a note without its signatures.
func splitNote(signed string) (string, bool) {
	text, _, cut := strings.Cut(signed, "\n\n")
	return text + "\n", cut
}
