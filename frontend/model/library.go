package model

import (
	"embed"
	"io/fs"

	"cpor/frontend/source"
)

// libraries are the models that are part of cpor: include "mpi" reads library/mpi.model.
//
//go:embed library/*.model
var libraries embed.FS

// library returns a library by its name, which has no extension; nil if there is none.
func library(name string) *source.File {
	if !fs.ValidPath(name) {
		return nil
	}
	text, err := libraries.ReadFile("library/" + name + ".model")
	if err != nil {
		return nil
	}
	return source.New(name, string(text))
}
