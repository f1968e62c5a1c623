module kinformer/kinformertest

go 1.24
