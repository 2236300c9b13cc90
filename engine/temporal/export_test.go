package temporal

// Hurry has small searches do what otherwise only large ones do, and undoes that.
func Hurry(yes bool) {
	if pace.compile = 1 << 13; yes {
		pace.compile = 1
	}
	pace.walk, pace.window, pace.sample, pace.sampleEvery = pace.compile, 1<<10, 1<<6, 32
	if yes {
		pace.window, pace.sample, pace.sampleEvery = 4, 2, 2
	}
}
