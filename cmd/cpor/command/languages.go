//go:build !gotests

package command

import (
	// The front ends for models: each registers itself.
	_ "cpor/frontend/model"
	_ "cpor/frontend/promela"
)
