package main

import (
	// The engines and reductions, and the front ends: each registers itself.
	_ "cpor/engine/all"
	_ "cpor/frontend/model"
	_ "cpor/frontend/promela"
)
