package lincheck

import (
	"testing"

	"cpor/check"
)

func TestPlain(t *testing.T) {
	check.Linearizable(t, func() *Plain { return new(Plain) }, check.Op("Inc", (*Plain).Inc))
}

func TestTable(t *testing.T) {
	check.Linearizable(t, newTable, check.Op("Put", (*Table).Put), check.Op("Get", (*Table).Get))
}

func TestSwitches(t *testing.T) {
	check.Linearizable(t, func() *Switches { return new(Switches) },
		check.Op("Odd", (*Switches).Odd), check.Op("Even", (*Switches).Even))
}

func TestClocks(t *testing.T) {
	check.Linearizable(t, newClocks, check.Model(func() *clocksModel { return new(clocksModel) }),
		check.Op("Begin", (*Clocks).Begin).As(func(m *clocksModel) { m.begun = 1 }),
		check.Op("Signal", (*Clocks).Signal).As(func(m *clocksModel) { m.signals++ }),
		check.Op("Await", (*Clocks).Await).MayWait().As(func(m *clocksModel) {
			if m.signals == 0 {
				select {}
			}
			m.signals--
		}),
		check.Op("Late", (*Clocks).Late).Silent().As(func(m *clocksModel) int { return m.begun }),
		check.Only("Begin(); Signal() || Await(); Late()"))
}

func testSegments(t *testing.T, bad bool, more ...check.Option) {
	check.Linearizable(t, func() *Segments { return newSegments(bad) },
		append(more, check.Op("Enqueue", (*Segments).Enqueue).Arg(0, 1, 2, 3, 4),
			check.Op("Dequeue", (*Segments).Dequeue))...)
}

const segments = "Enqueue(1); Enqueue(2) then Enqueue(3); Enqueue(4) || Enqueue(1); Enqueue(2)"

func TestSegmentsWrong(t *testing.T) { testSegments(t, true, check.Only(segments)) }
func TestSegmentsRight(t *testing.T) { testSegments(t, false, check.Only(segments)) }
