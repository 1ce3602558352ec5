package publishers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Secrets returns the secret of a name, such as a password, a key or a
// credentials file, as it is now: transports ask each time that they connect, so
// a secret that was replaced is taken up. A destination's settings name secrets
// and never hold them, since settings are events.
type Secrets func(name string) ([]byte, error)

// ErrSecret is wrapped by errors about a secret that can't be had.
var ErrSecret = errors.New("secret not available")

// maxSecretBytes is far beyond any certificate chain.
const maxSecretBytes = 1 << 20

// FolderSecrets reads secrets from the files of a folder, one each, as container
// platforms mount them. Links are followed within the folder. An empty dir is no
// folder: every secret is refused.
func FolderSecrets(dir string) Secrets {
	return func(name string) ([]byte, error) {
		if err := CheckSecretName(name); err != nil {
			return nil, err
		}
		if dir == "" {
			return nil, fmt.Errorf("%w: %q is named, but no folder of secrets is configured", ErrSecret, name)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: folder of secrets: %w", ErrSecret, errors.Unwrap(err))
		}
		defer func() { _ = root.Close() }()
		f, err := root.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrSecret, name, errors.Unwrap(err))
		}
		defer func() { _ = f.Close() }()
		secret, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %q: %w", ErrSecret, name, errors.Unwrap(err))
		case len(secret) > maxSecretBytes:
			return nil, fmt.Errorf("%w: %q is larger than %d bytes", ErrSecret, name, maxSecretBytes)
		case len(secret) == 0:
			return nil, fmt.Errorf("%w: %q is empty", ErrSecret, name)
		}
		return secret, nil
	}
}

// CheckSecretName refuses what is not the plain name of a file.
func CheckSecretName(name string) error {
	if name == "" || len(name) > 255 || name[0] == '.' || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}) {
		return fmt.Errorf("%w: %q is not the plain name of a file (letters, digits, '-', '_' and '.', not at the beginning)", ErrSecret, name)
	}
	return nil
}
