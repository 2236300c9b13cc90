// Package models has models that are written in Go with package model. Each has a twin in cpor's
// own language, which has the same steps: the tests compare the states and transitions of both.
package models

import "cpor/model"

// All are the models. The name of each is that of its twin's file.
var All = []*model.Model{TwoPhaseCommit, Raft, RingLock, MESI, Peterson, Dining, ChangRoberts,
	Termination}
