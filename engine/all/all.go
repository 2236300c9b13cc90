// Package all is imported for its effect: every engine and every reduction that
// there is registers with package engine. A new one is one line here.
package all

import (
	_ "cpor/cartesian"
	_ "cpor/engine/portfolio"
	_ "cpor/engine/search/ample"
	_ "cpor/engine/search/auto"
	_ "cpor/engine/search/composed"
	_ "cpor/engine/search/full"
	_ "cpor/engine/stateless"
	_ "cpor/engine/temporal"
	_ "cpor/engine/unfolding"
)
