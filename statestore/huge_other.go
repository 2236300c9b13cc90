//go:build !linux

package statestore

import "unsafe"

func (t *table) advise(unsafe.Pointer) {}
