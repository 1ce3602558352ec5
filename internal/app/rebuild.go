package app

import (
	"context"
	"errors"
	"io"
)

func Rebuild(ctx context.Context, t *Target, quiet bool, out, progress io.Writer) error {
	return errors.New("wip")
}
