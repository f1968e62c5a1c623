// A server that sends as fast as the connection takes it (bench_burst).
module kinformer/bench/burst

go 1.26.0
