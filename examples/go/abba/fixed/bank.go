// Package bank moves money between accounts.
package bank

import (
	"errors"
	"sync"
)

// ErrFunds means that an account holds less than is to be moved.
var ErrFunds = errors.New("bank: insufficient funds")

// Account is one account.
type Account struct {
	ID      int
	mu      sync.Mutex
	balance int
}

// New returns an account with a balance.
func New(id, balance int) *Account {
	return &Account{ID: id, balance: balance}
}

// Balance returns what the account holds.
func (a *Account) Balance() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.balance
}

// Transfer moves an amount. It locks the account with the smaller number first.
func Transfer(from, to *Account, amount int) error {
	first, second := from, to
	if second.ID < first.ID {
		first, second = second, first
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	second.mu.Lock()
	defer second.mu.Unlock()
	if from.balance < amount {
		return ErrFunds
	}
	from.balance -= amount
	to.balance += amount
	return nil
}
