package cache_test

import (
	"testing"

	"cpor/check"
	cache "cpor/examples/linearizable/fixed"
)

func TestCache(t *testing.T) {
	check.Linearizable(t, cache.New,
		check.Op("Get", (*cache.Cache).Get),
		check.Op("PutIfAbsent", (*cache.Cache).PutIfAbsent),
		check.Bounds{Scenarios: 20})
}
