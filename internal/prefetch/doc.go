// Package prefetch lets a search ask for memory before it needs it. Tables of millions of states
// are far larger than the caches, so most look-ups wait for memory. A search that asks for
// several lines first waits for them together.
package prefetch
