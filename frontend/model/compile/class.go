package compile

import (
	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// class gives the locations of a shared variable, which follow first, the class
// that its declaration claims, and reports a claim that its type contradicts.
func (g *gen) class(obj *resolve.Object, first int) {
	locs := g.p.Locs[first:]
	var data, object string
	for i := range locs {
		if locs[i].Class != syntax.Communication { // otherwise an atomic field
			locs[i].Class = obj.Class
		}
		switch {
		case locs[i].Mutex:
			object = "a mutex"
		case locs[i].Role == MonitorOwner:
			object = "a monitor"
		case locs[i].Role == SemaphoreCount:
			object = "a semaphore"
		case locs[i].Role == RWWriter || locs[i].Role == RWReaders:
			object = "a rwmutex"
		case locs[i].Role == GroupCount:
			object = "a waitgroup"
		case locs[i].Role == CondWaiters:
			object = "a cond"
		case locs[i].Role != Plain:
			if object == "" {
				object = "a channel"
			}
		default:
			data = locs[i].Name
		}
	}
	end := obj.Pos + source.Pos(len(obj.Name))
	switch {
	case object == "" || obj.Class == syntax.LockProtected:
	case obj.Class == syntax.Unshared:
		g.errs.Add(obj.Pos, end, "unshared contradicts the type of %s: %s is meant for several "+
			"threads; remove unshared", obj.Name, object)
	case data == "":
		g.errs.Add(obj.Pos, end, "comm says nothing about %s: %s is a synchronization object by "+
			"its type, not a variable that a lock would protect; remove comm", obj.Name, object)
	}
}
