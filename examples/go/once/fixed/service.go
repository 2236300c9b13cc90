// Package service starts its parts when they are first needed.
package service

import "sync"

// Service has a database and a cache in front of it.
type Service struct {
	once  sync.Once
	ready bool
}

// Start starts the service, once.
func (s *Service) Start() {
	s.once.Do(func() {
		s.ready = s.warm("index") && s.warm("users")
	})
}

// warm fills a part of the cache.
func (s *Service) warm(part string) bool { return s.lookup(part) != "" }

// Get returns what the service knows about a key.
func (s *Service) Get(key string) string {
	s.Start()
	return s.lookup(key)
}

// lookup is Get for those who run while the service starts.
func (s *Service) lookup(key string) string { return "value of " + key }
