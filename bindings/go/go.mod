module memtracer

go 1.18
