package cache_test

import (
	"os"
	"testing"

	"cpor/check"
	cache "cpor/examples/linearizable/bug"
)

func TestCache(t *testing.T) {
	if len(os.Environ()) > 0 && os.Getenv("SHOW_BUG") == "" {
		t.Skip("fails on purpose; cpor test shows how, and so does SHOW_BUG=1 go test")
	}
	check.Linearizable(t, cache.New,
		check.Op("Get", (*cache.Cache).Get),
		check.Op("PutIfAbsent", (*cache.Cache).PutIfAbsent))
}
