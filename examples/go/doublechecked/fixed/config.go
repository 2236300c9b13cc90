// Package config loads a configuration once.
package config

import "sync"

// Config is what is loaded.
type Config struct {
	Host string
	Port int
}

// Loader loads the configuration at its first use.
type Loader struct {
	once   sync.Once
	config Config
}

// Get returns the configuration. Once orders the load before every return.
func (l *Loader) Get() Config {
	l.once.Do(func() {
		l.config = Config{Host: "localhost", Port: 8080}
	})
	return l.config
}
