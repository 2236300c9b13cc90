package main

import (
	"fmt"

	"cpor/engine/stateless"
	"cpor/engine/temporal"
	"cpor/system"

	// The front ends: each registers the files that it reads.
	_ "cpor/frontend/model"
	_ "cpor/frontend/promela"
)

// reducible takes no reduction for a system of which none is sound, and refuses
// one that the user has chosen.
func (c *runConfig) reducible(sys system.System) error {
	why := system.WhyIrreducible(sys)
	if why == "" || c.por() == "none" {
		return nil
	}
	if c.porGiven {
		return fmt.Errorf("-por %s: no reduction is sound: %s; use -por none", c.por(), why)
	}
	switch c.mode() {
	case unstored:
		c.stateless.reduction = stateless.None
		c.reduction = &reduction{name: "none"}
	case overTime:
		r := temporal.None
		c.ltl.reduction = &r
	default:
		r, err := parseReduction("none")
		if err != nil {
			return err
		}
		c.reduction = r
	}
	return nil
}
