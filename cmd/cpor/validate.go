package main

import (
	"context"
	"errors"
	"sync"

	"cpor/engine/search"
	"cpor/engine/search/validate"
	"cpor/system"
)

// errDifference ends a search in which the validation has found a difference.
var errDifference = errors.New("the validation found a difference")

// validation collects what -validate finds, from all workers, and ends the
// search at the first difference. A nil validation finds nothing.
type validation struct {
	hook   func(worker int) search.Hook
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	first  error
}

func newValidation(sys system.System, cancel context.CancelCauseFunc) *validation {
	v := &validation{cancel: cancel}
	v.hook = validate.Hook(sys, v.report)
	return v
}

func (v *validation) report(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.first == nil {
		v.first = err
		v.cancel(errDifference)
	}
}

// reporter returns what expanders report differences to; nil if nobody listens.
func (v *validation) reporter() func(error) {
	if v == nil {
		return nil
	}
	return v.report
}

// difference returns the first difference.
func (v *validation) difference() error {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.first
}
