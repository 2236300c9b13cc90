// Command cmd is cpor with the models of package models: go run ./examples/models/cmd run raft.
package main

import (
	"cpor/examples/models"
	"cpor/model/cli"
)

func main() { cli.Main(models.All...) }
