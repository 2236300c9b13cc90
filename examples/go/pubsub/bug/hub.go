// Package hub sends messages to everybody who has subscribed.
package hub

import "sync"

// Hub knows its subscribers.
type Hub struct {
	mu   sync.Mutex
	subs map[*Sub]bool
}

// Sub is one subscription.
type Sub struct {
	C   chan string
	hub *Hub
}

// New returns a hub without subscribers.
func New() *Hub { return &Hub{subs: map[*Sub]bool{}} }

// Subscribe adds a subscriber.
func (h *Hub) Subscribe() *Sub {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Sub{C: make(chan string), hub: h}
	h.subs[s] = true
	return s
}

// Publish sends a message to each subscriber. It holds the lock while it
// waits for a receiver who may want the lock to unsubscribe.
func (h *Hub) Publish(msg string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.C <- msg
	}
}

// Unsubscribe ends the subscription.
func (s *Sub) Unsubscribe() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
}
