//go:build models

package command

import (
	"context"
	"errors"

	"cpor/system"
)

// onlyTag is the tag that keeps only a part of cpor. With both tags, nothing would be left, so it
// is declared twice, and does not compile.
const onlyTag = "models"

var goTests = leftOut("test")

// errNoGo is why a cpor for models reads no Go packages.
var errNoGo = errors.New("this cpor was built with -tags models and does not read Go packages; " +
	installs)

func runGo(e *env, args []string) int { return e.mistake("run", "%v", errNoGo) }

func goPrinting(context.Context, string, string) (system.System, error) { return nil, errNoGo }
