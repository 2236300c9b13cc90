package command

import (
	// The engines and reductions: each registers itself.
	_ "cpor/engine/all"
)
