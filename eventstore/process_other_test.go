//go:build !unix

package eventstore

import (
	"testing"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// Processes can't be frozen here, so those tests are left out.
func TestMain(m *testing.M) { pgtest.Main(m) }
