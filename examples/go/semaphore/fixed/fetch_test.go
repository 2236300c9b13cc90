package fetch

import (
	"sync"
	"testing"
)

func TestFetch(t *testing.T) {
	c := New(1, func(url string) (string, error) {
		if url == "" {
			return "", ErrEmpty
		}
		return "body of " + url, nil
	})
	var wg sync.WaitGroup
	for _, url := range []string{"a", ""} {
		wg.Go(func() {
			if _, err := c.Fetch(url); (err != nil) != (url == "") {
				t.Errorf("Fetch(%q): %v", url, err)
			}
		})
	}
	wg.Wait()
}
