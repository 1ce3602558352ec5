package publishers

import (
	"testing"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
