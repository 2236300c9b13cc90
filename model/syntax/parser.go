package syntax

import "cpor/model/source"

// Parse parses a model file.
func Parse(f *source.File) (*File, error) { return &File{Source: f}, nil }
