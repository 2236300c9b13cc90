module classic

go 1.26
